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

/** Where the digits of chance stand in a uuid: behind the time and the counter; the first of them tells the variant, too. */
const chanceAt = [19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]
const variantAt = 19
/** The counter: three digits. */
const countMost = 0xfff

/**
 * Makes uuids (version 7) that begin with the time and come in order, also within a millisecond: each is written right behind the
 * one before, in every index that they stand in. A millisecond that has used its counter up borrows from the next one.
 */
export function uuidsInOrder(random: Random): (wallMs: number) => string {
  // As characters: put together from texts, each would be kept in pieces.
  const uuid = Buffer.from('00000000-0000-7000-8000-000000000000')
  let [ms, count] = [-1, 0]
  return (wallMs) => {
    const now = Math.floor(wallMs)
    if (now > ms || count === countMost) {
      count = now > ms ? Number.parseInt(random.hex(2).slice(0, 3), 16) : 0
      ms = Math.max(now, ms + 1)
      const time = ms.toString(16).padStart(12, '0').slice(-12)
      uuid.write(`${time.slice(0, 8)}-${time.slice(8)}`, 'latin1')
    } else count++
    uuid.write(count.toString(16).padStart(3, '0'), 15, 'latin1')
    const digits = random.hex(8)
    for (let i = 0; i < chanceAt.length; i++) uuid[chanceAt[i] as number] = digits.charCodeAt(i)
    uuid[variantAt] = '89ab'.charCodeAt(Number.parseInt(digits[0] as string, 16) & 0x3)
    return uuid.toString('latin1')
  }
}

/** `ms` moved by up to ± `share` of itself. */
export function spread(random: Chance, ms: number, share: number): number {
  return ms * (1 + share * (2 * random.float() - 1))
}
