// Lines for people. They go to standard error, so that standard output stays the program's own, unless the app says where.
import { redact } from './redact.ts'
import { ifRejected } from './thenable.ts'
import { visible } from './visible.ts'

/** One line for people. */
export interface LogRecord {
  readonly level: 'info' | 'warn' | 'error'
  /** One line, without secrets and without characters that act on a terminal. */
  readonly message: string
  /** The event that it reports; null: a handler called `ctx.log`. */
  readonly event: string | null
  /** What it is about: `job`, `key`, … */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Where lines for people go: `false` is nowhere. */
export type LogOption = false | ((record: LogRecord) => void)

export type Log = (record: LogRecord) => void

/** Writes records where `option` says, by default to standard error. Never throws. */
export function logTo(option: LogOption | undefined): Log {
  if (option === false) return () => {}
  const write = option ?? toStandardError
  return (record) => {
    try {
      const message = visible(redact(record.message))
      const answer: unknown = write({ ...record, message })
      // An async function is a mistake that the types allow; its rejection must not end the process.
      ifRejected(answer, () => {})
    } catch {
      // A log that cannot be written must not stop a worker.
    }
  }
}

/** regrow's own lines begin with its name; those of handlers with their level, and end with the fields as JSON. */
function toStandardError({ level, message, event, fields }: LogRecord): void {
  if (event !== null) process.stderr.write(`regrow: ${message}\n`)
  else {
    const details = Object.keys(fields).length > 0 ? ` ${visible(JSON.stringify(fields))}` : ''
    process.stderr.write(`${level.padEnd(5)} ${message}${details}\n`)
  }
}
