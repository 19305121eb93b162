// Chance enters here and nowhere else, so that a seeded run replays exactly.
import { randomBytes } from 'node:crypto'

/** A number in [0, 1), each time another one. */
export type Chance = Pick<Random, 'float'>

/** The only source of chance. Tests and the simulator bring their own. */
export interface Random {
  /** A number in [0, 1). */
  float(): number
  /** `n` random bytes as lower-case hex. */
  hex(bytes: number): string
}

/** Bytes drawn ahead: one call of the system for hundreds of numbers. Each is handed out once. */
let drawn: Buffer = Buffer.alloc(0)
let used = 0
const drawnAtATime = 4_096

function bytesOf(count: number): Buffer {
  if (used + count > drawn.length) {
    drawn = randomBytes(Math.max(drawnAtATime, count))
    used = 0
  }
  used += count
  return drawn.subarray(used - count, used)
}

export const systemRandom: Random = {
  float: () => bytesOf(6).readUIntBE(0, 6) / 2 ** 48,
  hex: (bytes) => bytesOf(bytes).toString('hex'),
}

/** The uuid before, as characters: many are made in one millisecond, and put together from texts each would be kept in pieces. */
const written = { ms: -1, uuid: Buffer.from('00000000-0000-7000-8000-000000000000') }

/** Where the digits of chance stand in a uuid: all but the time, the version and the variant. */
const chanceAt = [15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]
const variantAt = 19

/** A uuid (version 7) whose first bits are `wallMs`: new ids lie side by side in an index. */
export function timeOrderedUuid(random: Random, wallMs: number): string {
  const { uuid } = written
  const ms = Math.floor(wallMs)
  if (ms !== written.ms) {
    const time = ms.toString(16).padStart(12, '0').slice(-12)
    uuid.write(`${time.slice(0, 8)}-${time.slice(8)}`, 'latin1')
    written.ms = ms
  }
  const digits = random.hex(10)
  for (let i = 0; i < chanceAt.length; i++) uuid[chanceAt[i] as number] = digits.charCodeAt(i)
  uuid[variantAt] = '89ab'.charCodeAt(Number.parseInt(digits[3] as string, 16) & 0x3)
  return uuid.toString('latin1')
}

/** `ms` moved by up to ± `share` of itself. */
export function spread(random: Chance, ms: number, share: number): number {
  return ms * (1 + share * (2 * random.float() - 1))
}
