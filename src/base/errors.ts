// The one error class, and how anything thrown is read. What is read may resist: getters that throw, revoked proxies, circles, lists with
// holes or without end. Every reader here answers for every value; one that threw would take a connection or a worker with it (M44).

/**
 * An error of regrow: `code` is a stable word, `message` says what was found, `hint` says what to do. Its code and hint cannot be made
 * to throw, and `instanceof` never asks the value itself: it answers for a revoked proxy, too.
 */
export class RegrowError extends Error {
  override readonly name = 'RegrowError'
  declare readonly code: string
  declare readonly hint: string
  readonly #isOne = true

  constructor(code: string, message: string, hint: string, cause?: unknown) {
    super(hint ? `${message}\n  → ${hint}` : message, cause === undefined ? undefined : { cause })
    Object.defineProperty(this, 'code', { value: code, enumerable: true })
    Object.defineProperty(this, 'hint', { value: hint, enumerable: true })
  }

  static override [Symbol.hasInstance](thing: unknown): boolean {
    const isOne = typeof thing === 'object' && thing !== null && #isOne in thing && thing.#isOne
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this, and asks for itself.
    return isOne && (this === RegrowError || Function.prototype[Symbol.hasInstance].call(this, thing))
  }
}

/** Errors of one list that are looked at. */
const listMost = 20
/** Characters of a text that are looked at: more than `redact` keeps, which knows what may be cut. */
const charactersMost = 100_000

/**
 * The text of anything thrown. An error without a message is told by what is inside it: Node tries each address of a host, and wraps
 * what came of that into an error without one.
 */
export function messageOf(thrown: unknown): string {
  if (!isErrorLike(thrown)) return textOf(thrown)
  const message = read(thrown, 'message')
  if (message !== undefined && message !== '') return textOf(message)
  const inner = errorsIn(thrown)
    .slice(0, 5)
    .map((each) => (isErrorLike(each) ? read(each, 'message') : each))
  const told = inner.filter((each) => each !== undefined && each !== '').map(textOf)
  if (told.length > 0) return told.join('; ')
  const words = [read(thrown, 'code'), read(thrown, 'name')].filter((word) => typeof word === 'string' && word !== '')
  return words.length > 0 ? textOf(words[0]) : kindOf(thrown)
}

/** True for errors, also those of another realm. */
export function isErrorLike(thrown: unknown): thrown is object {
  try {
    return thrown instanceof Error || (typeof thrown === 'object' && kindOf(thrown) === '[object Error]')
  } catch {
    return false
  }
}

/** What an aggregate of errors holds: the first of them, without holes. */
export function errorsIn(thrown: unknown): readonly unknown[] {
  try {
    const errors = read(thrown, 'errors')
    if (!Array.isArray(errors)) return []
    const first: unknown[] = []
    for (let i = 0; i < Math.min(errors.length, listMost); i++) if (i in errors) first.push(errors[i])
    return first
  } catch {
    return []
  }
}

/** The same of an `AggregateError` alone: others have a property of that name, too. */
export function aggregated(thrown: unknown): readonly unknown[] {
  try {
    return thrown instanceof AggregateError ? errorsIn(thrown) : []
  } catch {
    return []
  }
}

/** The word by which a program tells an error; undefined where it has none. */
export function codeOf(thrown: unknown): string | undefined {
  const code = read(thrown, 'code')
  return typeof code === 'string' ? code : undefined
}

/** What an error says that it was caused by. */
export const causeOf = (thrown: unknown): unknown => read(thrown, 'cause')

/** A property of something thrown; undefined where it cannot be read. */
export function read(thrown: unknown, name: string): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return undefined
  try {
    return Reflect.get(thrown, name)
  } catch {
    return undefined
  }
}

function textOf(thing: unknown): string {
  try {
    return String(thing).slice(0, charactersMost)
  } catch {
    return kindOf(thing)
  }
}

/** What kind of thing a value is, when it cannot be told itself: `[object Error]`. */
export function kindOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value).slice(0, charactersMost)
  } catch {
    return typeof value
  }
}
