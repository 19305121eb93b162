// What `regrow()` and `app.work()` are given besides jobs: every mistake is found and told in a sentence.
import { type Duration, milliseconds } from '../base/duration.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { shown } from '../base/options.ts'
import { isOptions, kindOfValue, nearest, unknownOptions } from '../base/suggest.ts'
import type { Handler } from '../job/handler.ts'
import type { Job } from '../job/job.ts'

const leaseMsDefault = 15_000
const concurrencyDefault = 10

/** How a key is guarded while its handler runs. */
export type Guard = 'claim' | 'none'
const guardNames: readonly Guard[] = ['claim', 'none']

/** The lease and the guard of an app, and what is wrong with its options; nothing is thrown. */
export function readApp(given: object | undefined): { leaseMs: number; guard: Guard; mistakes: string[] } {
  const options = (isOptions(given) ? given : {}) as {
    store?: unknown
    queue?: unknown
    guard?: unknown
    lease?: Duration
    migrate?: unknown
    log?: unknown
  }
  const mistakes = unknownOptions(options, ['store', 'queue', 'guard', 'lease', 'migrate', 'log'], 'regrow()')
  mistakes.push(...logMistakes(options.log, 'regrow()'))
  if (options.migrate !== undefined && typeof options.migrate !== 'boolean')
    mistakes.push(`regrow(): \`migrate\` is ${shown(options.migrate)}; expected true or false`)
  for (const driver of [options.store, options.queue]) mistakes.push(...mistakesOf(driver))
  if (options.store === undefined)
    mistakes.push('regrow(): `store` is missing: where is the truth? Give postgres(url) or pglite(directory)')
  else if (!opens('store', options.store))
    mistakes.push(
      `regrow(): \`store\` is ${driverShown(options.store)}; expected what postgres(url) or pglite(directory) returns`,
    )
  if (options.queue !== undefined && !opens('queue', options.queue))
    mistakes.push(
      `regrow(): \`queue\` is ${driverShown(options.queue)}; expected what memory() or redis(url) returns. Without it the store's own is used`,
    )
  const guard = guardNames.find((name) => name === (options.guard ?? 'claim'))
  if (guard === undefined)
    mistakes.push(
      `regrow(): \`guard\` is ${typeof options.guard === 'string' ? `"${options.guard}"` : kindOfValue(options.guard)}; expected 'claim' or 'none'`,
    )
  let leaseMs = leaseMsDefault
  try {
    leaseMs = milliseconds(options.lease ?? leaseMsDefault, '`lease`')
    if (leaseMs < 1_000) mistakes.push(`regrow(): \`lease\` is ${leaseMs} ms; expected a second at least`)
  } catch (error) {
    mistakes.push(`regrow(): ${messageOf(error).replace('\n  → ', '. ')}`)
  }
  return { leaseMs, guard: guard ?? 'claim', mistakes }
}

/** What `app.work()` may be given, as far as it is read here. */
interface WorkChoice {
  readonly handlers?: unknown
  readonly concurrency?: unknown
  readonly only?: unknown
  readonly except?: unknown
  readonly log?: unknown
}

/** Jobs that nobody here runs though nobody said so; `handlers` are those that this worker serves. */
export function unhandled(
  { only, except }: WorkChoice,
  handlers: readonly Handler[],
  declared: readonly string[],
): readonly string[] {
  if (only !== undefined) return []
  const served = new Set<unknown>([...handlers.map(({ job }) => job.name), ...[except].flat()])
  return declared.filter((name) => !served.has(name))
}

const logMistakes = (log: unknown, where: string) =>
  log === undefined || log === false || typeof log === 'function'
    ? []
    : [
        `${where}: \`log\` is ${log === true ? 'true' : kindOfValue(log)}; expected false, or a function that takes a record`,
      ]

/** Who reads these options, for texts of mistakes, and the names that it knows. */
interface Caller {
  readonly where: string
  readonly known: readonly string[]
}

const workOptions = ['handlers', 'concurrency', 'only', 'except', 'log']

/**
 * What a worker is to do: the handlers that it serves, of all that jobs were declared with (`inline`) or that it is given, and how many
 * calls it makes at a time. `jobs` are all jobs of the app. Throws one error that lists what is wrong with the options.
 */
export function readWork(
  choice: WorkChoice,
  inline: readonly Handler[],
  jobs: readonly Job[],
  { where, known }: Caller = { where: 'work()', known: workOptions },
): { handlers: readonly Handler[]; concurrency: number } {
  if (!isOptions(choice))
    throw new RegrowError(
      'bad_options',
      `${where}: the options are ${kindOfValue(choice)}`,
      'Pass an object such as { handlers: [job.handle(…)], concurrency: 20 }.',
    )
  const mistakes = unknownOptions(choice, known, where)
  const handlers = [...inline, ...givenHandlers(choice.handlers, jobs, { mistakes, where })]
  const declared = jobs.map(({ name }) => name)
  mistakes.push(...logMistakes(choice.log, where))
  const { concurrency = concurrencyDefault } = choice
  if (!isCount(concurrency))
    mistakes.push(`${where}: \`concurrency\` is ${String(concurrency)}; expected a whole number from 1`)
  const names = handlers.map(({ job }) => job.name)
  for (const name of new Set(names.filter((each, i) => names.indexOf(each) !== i)))
    mistakes.push(`${where}: "${name}" has two handlers; one \`run\` or one handler of a job`)
  const chosen = choose(choice, handlers, declared, { mistakes, where })
  if (mistakes.length > 0) throw new RegrowError('bad_options', mistakes.join('\n'), 'Mend that and start again.')
  return { handlers: chosen, concurrency: concurrency as number }
}

/** Those of `given` that can run; a sentence for each of the others. */
function givenHandlers(
  given: unknown,
  jobs: readonly Job[],
  { mistakes, where }: { readonly mistakes: string[]; readonly where: string },
): readonly Handler[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    mistakes.push(`${where}: \`handlers\` is ${kindOfValue(given)}; expected an array: [job.handle(…)]`)
    return []
  }
  return given.filter((each: unknown, i) => {
    const { job, run } = (each ?? {}) as Partial<Handler>
    if (typeof job?.name !== 'string')
      mistakes.push(`${where}: \`handlers[${i}]\` is ${kindOfValue(each)}; expected what job.handle(…) returns`)
    else if (typeof run !== 'function')
      mistakes.push(`${where}: the handler of "${job.name}" is ${kindOfValue(run)}; expected a function`)
    else if (!jobs.includes(job))
      mistakes.push(
        `${where}: \`handlers[${i}]\` is of a job "${job.name}" of another app; expected a handler of a job that this app declares. Is the file of the app loaded twice?`,
      )
    else return true
    return false
  })
}

/** A name that means nothing here would be a choice that silently does not hold. */
function choose(
  choice: WorkChoice,
  handlers: readonly Handler[],
  declared: readonly string[],
  { mistakes, where }: { readonly mistakes: string[]; readonly where: string },
): readonly Handler[] {
  const wrong = (sentence: string) => mistakes.push(`${where}: ${sentence}`)
  const handled = handlers.map(({ job }) => job.name)
  const known = [...new Set([...handled, ...declared])]
  const found = mistakes.length
  const read = (option: 'only' | 'except'): readonly string[] | undefined => {
    const given = choice[option]
    if (given === undefined) return undefined
    const names: readonly unknown[] = Array.isArray(given) ? given : [given]
    for (const name of new Set(names))
      if (typeof name !== 'string') wrong(`\`${option}\` holds ${kindOfValue(name)}; expected names of jobs`)
      else if (!known.includes(name)) {
        const guess = nearest(name, known)
        const advice = guess ? `did you mean "${guess}"?` : `known are: ${known.join(', ') || 'none'}`
        wrong(`\`${option}\` names "${name}", and there is no such job; ${advice}`)
      } else if (option === 'only' && !handled.includes(name))
        wrong(`\`only\` names "${name}", which has no handler here: give it a \`run\`, or pass its handler`)
    return names as readonly string[]
  }
  const [only, except] = [read('only'), read('except')]
  for (const name of new Set(only?.filter((each) => except?.includes(each))))
    wrong(`both \`only\` and \`except\` name "${name}"; leave it out of one of them`)
  const chosen = handlers.filter(
    ({ job }) => (only === undefined || only.includes(job.name)) && !except?.includes(job.name),
  )
  const option = only === undefined ? 'except' : 'only'
  // Said only when nothing else is: a misspelt name leaves no job, too.
  if ((only ?? except) !== undefined && chosen.length === 0 && mistakes.length === found)
    wrong(`\`${option}\` leaves no job; this worker has handlers of: ${handled.join(', ') || 'none'}`)
  return chosen
}

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1

/** What a driver says of its own options. */
const mistakesOf = (driver: unknown): readonly string[] =>
  (driver as { mistakes?: readonly string[] } | null | undefined)?.mistakes ?? []

interface MaybeDriver {
  readonly kind?: unknown
  readonly name?: unknown
  readonly open?: unknown
}

const opens = (kind: 'store' | 'queue', driver: unknown) => {
  const { kind: own, open } = (driver ?? {}) as MaybeDriver
  return own === kind && typeof open === 'function'
}

/** A driver by its kind: a queue that was given as the store, say. */
function driverShown(driver: unknown): string {
  const { kind, name } = (driver ?? {}) as MaybeDriver
  return kind === 'store' || kind === 'queue' ? `the ${kind} \`${String(name)}\`` : kindOfValue(driver)
}
