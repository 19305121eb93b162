// Errors of the model look like those of the server: a sentence and an SQLSTATE.

/** An error with an SQLSTATE, as clients of Postgres throw it. */
export function sqlError(code: string, message: string): Error & { code: string } {
  return Object.assign(new Error(message), { code })
}

/** The session was ended from outside, or the server went away. */
export const terminated = () => sqlError('57P01', 'terminating connection due to administrator command')
