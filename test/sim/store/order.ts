// The order of texts and keys as Postgres has it: text by bytes ("C"), whole numbers by value, composite keys by columns.
import type { KeyCodec } from '../../../src/job/key.ts'
import { sqlError } from './sql-error.ts'

/** A comparable form of a key: one part per column. */
export type KeyParts = readonly (string | bigint)[]

/** Units of UTF-16 in the order of their bytes in UTF-8: surrogates stand for characters above all others. */
const byteRank = (unit: number) => (unit < 0xd800 ? unit : unit >= 0xe000 ? unit - 0x800 : unit + 0x2000)

/** Compares texts by their bytes in UTF-8. */
export function byBytes(a: string, b: string): number {
  if (a === b) return 0
  const shared = Math.min(a.length, b.length)
  for (let at = 0; at < shared; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return byteRank(left) - byteRank(right)
  }
  return a.length - b.length
}

/** Compares by the key, then by the job: the order in which statements lock rows (M30). */
export const byKey = (a: { key: string; job: string }, b: { key: string; job: string }): number =>
  byBytes(a.key, b.key) || byBytes(a.job, b.job)

/** Compares parsed keys column by column. */
export function byParts(a: KeyParts, b: KeyParts): number {
  for (let column = 0; column < a.length; column++) {
    const left = a[column] as string | bigint
    const right = b[column] as string | bigint
    if (left === right) continue
    if (typeof left === 'bigint') return left < (right as bigint) ? -1 : 1
    return byBytes(left, right as string)
  }
  return 0
}

const range = { int: [-(2n ** 31n), 2n ** 31n - 1n], bigint: [-(2n ** 63n), 2n ** 63n - 1n] } as const

/** A key's text as the types of its columns read it; what they cannot read fails as the cast in the statement does. */
export function partsOf(codec: KeyCodec, text: string): KeyParts {
  return codec.split(text).map((part, at) => {
    const type = codec.columns[at]?.type ?? 'text'
    if (part.includes('\0')) throw sqlError('22P05', 'unsupported Unicode escape sequence')
    if (type === 'text') return part
    if (type === 'uuid') return uuidOf(part)
    if (!/^\s*[+-]?\d+\s*$/.test(part)) throw sqlError('22P02', `invalid input syntax for type ${type}: "${part}"`)
    const value = BigInt(part.trim().replace(/^\+/, ''))
    const [low, high] = range[type]
    if (value < low || value > high) throw sqlError('22003', `value "${part}" is out of range for type ${type}`)
    return value
  })
}

/** The canonical form of a uuid. */
export function uuidOf(text: string): string {
  const digits = /^\{?((?:[0-9a-f]{4}-?){7}[0-9a-f]{4})\}?$/i.exec(text)?.[1]?.replaceAll('-', '').toLowerCase()
  if (!digits) throw sqlError('22P02', `invalid input syntax for type uuid: "${text}"`)
  return [8, 12, 16, 20, 32].map((end, at) => digits.slice([0, 8, 12, 16, 20][at], end)).join('-')
}
