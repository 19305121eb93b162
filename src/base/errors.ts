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

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
