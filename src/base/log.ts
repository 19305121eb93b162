// Lines for people, on standard error, so that standard output stays the program's own.

/** One line: time, level, message, and the fields as JSON. */
export function log(
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const details = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''
  process.stderr.write(`${level.padEnd(5)} ${message}${details}\n`)
}
