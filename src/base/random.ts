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

/** The time of the uuid before, as text: many are made in one millisecond. */
let written = { ms: -1, text: '' }

/** A uuid (version 7) whose first bits are `wallMs`: new ids lie side by side in an index. */
export function timeOrderedUuid(random: Random, wallMs: number): string {
  const ms = Math.floor(wallMs)
  if (ms !== written.ms) {
    const time = ms.toString(16).padStart(12, '0').slice(-12)
    written = { ms, text: `${time.slice(0, 8)}-${time.slice(8)}-7` }
  }
  const rest = random.hex(10)
  const variant = variants[Number.parseInt(rest[3] as string, 16) & 0x3]
  return `${written.text}${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
}

const variants = '89ab'

/** `ms` moved by up to ± `share` of itself. */
export function spread(random: Chance, ms: number, share: number): number {
  return ms * (1 + share * (2 * random.float() - 1))
}
