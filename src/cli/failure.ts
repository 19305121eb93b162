// An error as people and machines see it: message and hint, never a secret; a stack only with --debug.

import { redact } from '../base/redact.ts'
import { adviceOn } from '../drivers/postgres/index.ts'
import { exitCodes } from './command.ts'
import { type Output, visible } from './output.ts'

/** Mistakes in what was typed: exit code 2. */
const typed = new Set([
  'usage',
  'unknown_job',
  'unknown_schedule',
  'bad_key',
  'key_too_long',
  'bad_duration',
  'bad_options',
  'bad_input',
  'row_says_when',
])

interface Failure {
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** Tells of the error and answers the exit code. */
export function fail(error: unknown, out: Output, debug: boolean): number {
  const failure = failureOf(error)
  // By shape: an app module may bring a copy of regrow of its own.
  const stack = readable(() => (error instanceof Error ? redact(`${error.stack ?? ''}${causes(error)}`) : undefined))
  if (out.json) out.result({ error: { ...failure, ...(debug ? { stack } : {}) } }, () => '')
  else {
    const hint = failure.hint ? `\n  → ${failure.hint.split('\n').map(visible).join('\n')}` : ''
    out.note(`${out.color.red('regrow:')} ${failure.message.split('\n').map(visible).join('\n')}${hint}`)
    if (debug && stack) out.note(stack.split('\n').map(visible).join('\n'))
  }
  return failure.code === 'stopped' ? exitCodes.stopped : typed.has(failure.code) ? exitCodes.usage : exitCodes.failed
}

export const failureOf = (error: unknown): Failure =>
  readable(() => told(error)) ?? { code: 'thrown', message: 'Something was thrown that cannot be read', hint: '' }

/** What `read` answers; undefined where that throws: the app's module may throw anything. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Causes that are told. */
const causesMost = 12

function told(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: 'thrown', message: redact(String(error)), hint: '' }
  const { hint, code } = error as { hint?: unknown; code?: unknown }
  if (error.name === 'RegrowError' && typeof hint === 'string')
    return { code: String(code), message: redact(error.message.replace(`\n  → ${hint}`, '')), hint: redact(hint) }
  // Node tries each address of a host and wraps what came of it into an error without a message.
  const inner = error instanceof AggregateError ? error.errors : []
  const message =
    error.message || inner.map((each: unknown) => (each instanceof Error ? each.message : each)).join('; ')
  const word = typeof code === 'string' ? code : error.name
  return {
    code: word,
    message: redact(message || error.name),
    hint: adviceOn(error) ?? 'With --debug the stack is shown.',
  }
}

/** The chain of causes; one that is a circle is told once round. */
function causes(error: Error): string {
  const told = new Set<unknown>([error])
  const lines: string[] = []
  for (let cause = error.cause; cause !== undefined && !told.has(cause); cause = (cause as Partial<Error>)?.cause) {
    if (told.size > causesMost) break
    told.add(cause)
    lines.push(`\ncaused by: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`)
  }
  return lines.join('')
}
