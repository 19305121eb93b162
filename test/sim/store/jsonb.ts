// JSON as the server's jsonb tells it: shorter names first, then by bytes; a space after colons and commas.
import { byBytes } from './order.ts'

/** The text of a JSON value, as `jsonb::text` writes it. */
export function jsonbText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort(byLengthThenBytes)
    return `{${names.map((name) => `${JSON.stringify(name)}: ${jsonbText(Reflect.get(value, name))}`).join(', ')}}`
  }
  return typeof value === 'number' ? numberText(value) : JSON.stringify(value)
}

/** A flat record in the order in which jsonb keeps its names. */
export function ordered<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => byLengthThenBytes(a, b)))
}

const byLengthThenBytes = (a: string, b: string) => Buffer.byteLength(a) - Buffer.byteLength(b) || byBytes(a, b)

/** Numbers are decimal there, without an exponent. */
function numberText(value: number): string {
  const [digits = '0', exponent] = String(value === 0 ? 0 : value).split('e')
  if (exponent === undefined) return digits
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(digits) ?? []
  const shift = Number(exponent)
  return shift > 0
    ? `${sign}${whole}${part.padEnd(shift, '0')}`
    : `${sign}0.${'0'.repeat(-shift - whole.length)}${whole}${part}`
}
