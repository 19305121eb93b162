// What `regrow()` and `app.work()` are given besides jobs: every mistake is found and told in a sentence.
import { type Duration, milliseconds } from '../base/duration.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { unknownOptions } from '../base/options.ts'
import type { Handler } from './handler.ts'

const leaseMsDefault = 15_000

/** The lease of an app, and what is wrong with its options; nothing is thrown. */
export function readApp(given: object | undefined): { leaseMs: number; mistakes: string[] } {
  const options = (given ?? {}) as { store?: unknown; queue?: unknown; lease?: Duration }
  const mistakes = unknownOptions(options, ['store', 'queue', 'lease', 'migrate'], 'regrow()')
  if (options.store === undefined)
    mistakes.push('regrow(): `store` is missing: where is the truth? Give postgres(url) or pglite(directory)')
  else if (!opens(options.store))
    mistakes.push(
      `regrow(): \`store\` is ${kind(options.store)}; expected what postgres(url) or pglite(directory) returns`,
    )
  if (options.queue !== undefined && !opens(options.queue))
    mistakes.push(
      `regrow(): \`queue\` is ${kind(options.queue)}; expected what memory() or another queue's function returns`,
    )
  let leaseMs = leaseMsDefault
  try {
    leaseMs = milliseconds(options.lease ?? leaseMsDefault, '`lease`')
    if (leaseMs < 1_000) mistakes.push(`regrow(): \`lease\` is ${leaseMs} ms; expected a second at least`)
  } catch (error) {
    mistakes.push(`regrow(): ${messageOf(error).replace('\n  → ', '. ')}`)
  }
  return { leaseMs, mistakes }
}

/** Throws one error that lists what is wrong with the options of a worker. */
export function verifyWork(choice: { concurrency?: unknown }, handlers: readonly Handler[]): void {
  const mistakes = unknownOptions(choice, ['handlers', 'concurrency'], 'work()')
  const { concurrency = 10 } = choice
  if (!isCount(concurrency))
    mistakes.push(`work(): \`concurrency\` is ${String(concurrency)}; expected a whole number from 1`)
  const names = handlers.map(({ job }) => job.name)
  for (const name of new Set(names.filter((each, i) => names.indexOf(each) !== i)))
    mistakes.push(`work(): "${name}" has two handlers; one \`run\` or one handler of a job`)
  for (const { job, batchMax } of handlers)
    if (!isCount(batchMax))
      mistakes.push(`work(): \`batch\` of "${job.name}" is ${String(batchMax)}; expected a whole number from 1`)
  if (mistakes.length > 0) throw new RegrowError('bad_options', mistakes.join('\n'), 'Mend that and start again.')
}

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1

const opens = (driver: unknown) => typeof (driver as { open?: unknown } | null)?.open === 'function'

const kind = (value: unknown) =>
  value === null ? 'null' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
