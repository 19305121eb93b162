// The one error class. What was expected, what was found, and what to do about it.

/** An error of regrow: `code` is a stable word, `message` says what was found, `hint` says what to do. */
export class RegrowError extends Error {
  override readonly name = 'RegrowError'
  readonly code: string
  readonly hint: string

  constructor(code: string, message: string, hint: string, cause?: unknown) {
    super(hint ? `${message}\n  → ${hint}` : message, cause === undefined ? undefined : { cause })
    this.code = code
    this.hint = hint
  }
}

/**
 * The text of anything thrown; it never throws itself, whatever getters and prototypes the thing has. An error without a message
 * is told by what is inside it: Node tries each address of a host, and wraps what came of that into an error without one.
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
  return words.length > 0 ? String(words[0]) : kindOf(thrown)
}

/** True for errors, also those of another realm. */
export function isErrorLike(thrown: unknown): thrown is object {
  try {
    return thrown instanceof Error || (typeof thrown === 'object' && kindOf(thrown) === '[object Error]')
  } catch {
    return false
  }
}

/** What an aggregate of errors holds. */
export function errorsIn(error: object): readonly unknown[] {
  const errors = read(error, 'errors')
  return Array.isArray(errors) ? errors : []
}

/** A property of something thrown; undefined where its getter throws. */
export function read(thrown: object, name: string): unknown {
  try {
    return Reflect.get(thrown, name)
  } catch {
    return undefined
  }
}

function textOf(thing: unknown): string {
  try {
    return String(thing)
  } catch {
    return kindOf(thing)
  }
}

/** What kind of thing a value is, when it cannot be told itself: `[object Error]`. */
export function kindOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return typeof value
  }
}
