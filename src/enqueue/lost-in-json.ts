// What JSON would drop or change without a word: a function becomes nothing, a Map becomes {}. Such an input would be stored as something
// else than what was given. In: an input that was written as JSON. Out: where the first such value is, and what it is.
import { isErrorLike } from '../base/errors.ts'
import { kindOfValue } from '../base/suggest.ts'

/** `.attachments[0] is a Map`, to be read behind the name of the value; undefined: JSON holds all of it. */
export function lostInJson(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      return ` is ${kindOfValue(value)}`
    case 'number':
      return Number.isFinite(value) ? undefined : ` is ${value}`
    case 'object':
      return value === null ? undefined : Array.isArray(value) ? lostInArray(value) : lostInObject(value)
  }
  // Properties that are undefined are left out, as everywhere.
  return undefined
}

function lostInArray(values: readonly unknown[]): string | undefined {
  for (let i = 0; i < values.length; i++) {
    const lost = lostInJson(values[i])
    if (lost !== undefined) return `[${i}]${lost}`
  }
  return undefined
}

function lostInObject(value: object): string | undefined {
  // What says itself how it is written, as a Date does, is written so.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined
  const names = Object.keys(value)
  if (!isPlain(value) && (names.length === 0 || ArrayBuffer.isView(value) || isErrorLike(value)))
    return isBoxed(value) ? undefined : ` is ${nameOf(value)}`
  for (const name of names) {
    const lost = lostInJson((value as Record<string, unknown>)[name])
    if (lost !== undefined) return `.${name}${lost}`
  }
  return undefined
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // The prototype of another realm's objects is another one; like ours it has none itself.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

const isBoxed = (value: object) => value instanceof Number || value instanceof String || value instanceof Boolean

function nameOf(value: object): string {
  const name: unknown = value.constructor?.name
  const noun = typeof name === 'string' && name !== '' ? name : 'object'
  return `${/^[AEIOU]/.test(noun) ? 'an' : 'a'} ${noun}`
}
