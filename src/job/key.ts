// The identity of one piece of work. A key is canonical text from end to end: made canonical when it enters,
// typed again in the handler, and compared in SQL in its own type (S14: key out = key in, byte for byte).
import { RegrowError } from '../base/errors.ts'
import { kindOfValue } from '../base/suggest.ts'

/** The type of a key column. */
export type ScalarKey = 'text' | 'int' | 'bigint' | 'uuid'
/** What `key` of a job may be: a scalar type, or an object of them for a composite key. */
export type KeyShape = ScalarKey | { readonly [column: string]: ScalarKey }

type ScalarOut = { text: string; int: number; bigint: bigint; uuid: string }
type ScalarIn = { text: string; int: number | string; bigint: bigint | number | string; uuid: string }
/** A key as the handler gets it. */
export type KeyOut<S> = S extends ScalarKey
  ? ScalarOut[S]
  : { [C in keyof S]: S[C] extends ScalarKey ? ScalarOut[S[C]] : never }
/** A key as `enqueue` takes it. */
export type KeyIn<S> = S extends ScalarKey
  ? ScalarIn[S]
  : { [C in keyof S]: S[C] extends ScalarKey ? ScalarIn[S[C]] : never }

/** Turns keys into canonical text and back. */
export interface KeyCodec {
  readonly shape: KeyShape
  /** Column types in key order; a scalar key has one column, named by the query. */
  readonly columns: readonly { readonly name: string | null; readonly type: ScalarKey }[]
  /** `encode` takes the text of a key, too. Defaults to false. */
  readonly takesText?: boolean
  /** Canonical text of a value from outside; throws what was expected and found. */
  encode(value: unknown): string
  /** As `encode`, but of any length: the text of a row that is there and cannot be a key. */
  textOf(value: unknown): string
  decode(text: string): unknown
  /** Canonical text of column texts, and the column texts of canonical text. */
  join(parts: readonly string[]): string
  split(text: string): string[]
}

/** Bytes of a key at most, here, in every page and in every queue. */
export const keyBytesMax = 1024

/** Rows that cannot be keys: how many there are, and of one of them the beginning of its key, or behind a mark what is wrong. */
export interface UnusableKeys {
  readonly count: number
  readonly key: string
}

export const wrongRowMark = 'not a key: '

/** How it begins where the pending query itself fails for the row. */
export const failingRowMark = 'the query fails: '
const failureShown = 300

/** What is told of a row for which the pending query fails. */
export const failingRow = (key: string, failure: string): string =>
  `${failingRowMark}the pending query fails for "${key.slice(0, keyShown)}": ${failure.slice(0, failureShown)}`

/** Why they can never run, by the one that is shown. */
export function unusableReason({ key }: UnusableKeys): string {
  const text = key.replace(/\s+/g, ' ')
  if (key.startsWith(wrongRowMark)) return text.slice(wrongRowMark.length)
  if (key.startsWith(failingRowMark)) return text.slice(failingRowMark.length)
  return `a key may have ${keyBytesMax} bytes, and this one has more: "${text}…"`
}

/** Characters that are shown of a key that is too long. */
export const keyShown = 60

/** False: `text` is longer than a key may be. */
export const isKeyLength = (text: string): boolean =>
  // No character takes more than three bytes per code unit: most keys need not be measured.
  text.length * 3 <= keyBytesMax || Buffer.byteLength(text) <= keyBytesMax

export function keyCodec(shape: KeyShape): KeyCodec {
  if (typeof shape === 'string')
    return {
      shape,
      columns: [{ name: null, type: shape }],
      takesText: true,
      encode: shape === 'text' ? (value) => bounded(canonical(shape, value)) : (value) => canonical(shape, value),
      textOf: (value) => canonical(shape, value),
      decode: (text) => typed(shape, canonical(shape, text)),
      join: ([only]) => only as string,
      split: (text) => [text],
    }
  const columns = Object.entries(shape).map(([name, type]) => ({ name, type }))
  const split = (text: string): string[] => {
    const parts: unknown = parsed(text)
    if (!Array.isArray(parts) || parts.length !== columns.length || parts.some((part) => typeof part !== 'string'))
      throw badKey(`a JSON array of ${columns.length} texts`, text)
    return parts
  }
  const textOf = (value: unknown): string => {
    if (typeof value !== 'object' || value === null)
      throw badKey(`an object with ${columns.map(({ name }) => name).join(', ')}`, value)
    const fields = value as Record<string, unknown>
    return JSON.stringify(columns.map(({ name, type }) => canonical(type, fields[name], name)))
  }
  return {
    shape,
    columns,
    split,
    join: (parts) => JSON.stringify(parts),
    textOf,
    encode: (value) => bounded(textOf(value)),
    decode: (text) => {
      const parts = split(text)
      return Object.fromEntries(
        columns.map(({ name, type }, i) => [name, typed(type, canonical(type, parts[i], name))]),
      )
    },
  }
}

const range = { int: [-(2n ** 31n), 2n ** 31n - 1n], bigint: [-(2n ** 63n), 2n ** 63n - 1n] } as const
const bits = { int: 32, bigint: 64 } as const

/** What both kinds of numbers are like in nearly every key: their text is canonical as it stands. */
const shortNumber = /^(?:0|-?[1-9]\d{0,8})$/
const canonicalUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

function canonical(type: ScalarKey, value: unknown, column?: string): string {
  const expected = column ? `${type} in "${column}"` : type
  if (type === 'text') {
    if (typeof value !== 'string') throw badKey(expected, value)
    // Postgres text cannot hold NUL; a lone surrogate would come back as another character.
    if (value.includes('\0') || !value.isWellFormed()) throw badKey('text without NUL and lone surrogates', value)
    return value
  }
  if (type === 'uuid') {
    if (typeof value === 'string' && canonicalUuid.test(value)) return value
    const match =
      typeof value === 'string' &&
      /^\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i.exec(value)
    if (!match) throw badKey(expected, value)
    return match.slice(1).join('-').toLowerCase()
  }
  if (typeof value === 'string' && shortNumber.test(value)) return value
  if (typeof value === 'bigint' && BigInt.asIntN(bits[type], value) === value) return value.toString()
  const whole =
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isSafeInteger(value)) ||
    (typeof value === 'string' && /^[+-]?\d{1,40}$/.test(value))
  if (!whole)
    throw badKey(
      `${expected} (a whole number${typeof value === 'number' ? ' that a JS number can hold; use a bigint or text' : ''})`,
      value,
    )
  const number = BigInt(value as bigint | number | string)
  const [low, high] = range[type]
  if (number < low || number > high) throw badKey(`${expected} from ${low} to ${high}`, value)
  return number.toString()
}

function typed(type: ScalarKey, text: string): string | number | bigint {
  return type === 'int' ? Number(text) : type === 'bigint' ? BigInt(text) : text
}

function bounded(text: string): string {
  if (isKeyLength(text)) return text
  throw new RegrowError(
    'key_too_long',
    `A key may have ${keyBytesMax} bytes, this one has ${Buffer.byteLength(text)}: "${text.slice(0, 40)}…"`,
    'A key is the identity of a row. Keep facts in the row and enqueue its id.',
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function badKey(expected: string, found: unknown): RegrowError {
  const shown = typeof found === 'bigint' ? `${found}n` : jsonOrKind(found)
  return new RegrowError(
    'bad_key',
    `Expected a key of type ${expected}, found ${shown.slice(0, 80)}`,
    `The type comes from the job's \`key\` option ('text' where it is left out): 'text', 'int', 'bigint', 'uuid', or an object of these.`,
  )
}

/** JSON where there is some: a key of several columns is shown whole. */
function jsonOrKind(found: unknown): string {
  try {
    return JSON.stringify(found) ?? kindOfValue(found)
  } catch {
    return kindOfValue(found)
  }
}

/** False for what no row of this key's type reads as, however long it is: a place among rows that somebody else wrote down. */
export function isKeyText(codec: KeyCodec, text: string): boolean {
  try {
    return codec.textOf(codec.takesText ? text : codec.decode(text)) === text
  } catch {
    return false
  }
}

/** S13: false for what no key of this type looks like. Somebody else put it there. */
export function isCanonical(codec: KeyCodec, key: string): boolean {
  try {
    return codec.encode(codec.takesText ? key : codec.decode(key)) === key
  } catch {
    return false
  }
}
