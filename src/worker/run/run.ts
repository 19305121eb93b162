// Upper arrow, step run: keys that may start in; runs that are over out. A handler's error never leaves this file.
import type { Clock } from '../../base/clock.ts'
import { RegrowError } from '../../base/errors.ts'
import type { Events } from '../../base/events.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { isThenable } from '../../base/thenable.ts'
import { type Answer, askSchema, isLater, issueText } from '../../job/ask-schema.ts'
import type { EventMap } from '../../job/event-map.ts'
import type { Handler } from '../../job/handler.ts'
import { attemptOf, type Outcome } from '../../job/outcome.ts'
import type { Claims } from '../held-claims.ts'
import type { Ended, Ready, RunTells } from '../stages.ts'
import { abort, contextOfBatch, contextOfOne, mark, type RunState } from './context.ts'
import type { Transact } from './ctx-tx.ts'
import type { Running, Watched } from './timeouts.ts'

export interface RunPorts {
  readonly clock: Clock
  readonly random: Random
  readonly claims: Claims
  readonly running: Running
  readonly events: Events<EventMap>
  readonly log: Log
  readonly transact: Transact
  /** False: our claims may be somebody else's by now. */
  readonly sure: () => boolean
}

/** Calls the handler once for these entries, and tells what comes of it. */
export function run(ports: RunPorts, handler: Handler, entries: readonly Ready[], tells: RunTells): void {
  new Call(ports, handler, entries, tells).start()
}

/** One call from its start to its end. One object and no promises: at tens of thousands of runs a second each of them counts. */
class Call implements RunState, Watched {
  readonly entries: readonly Ready[]
  readonly startedAt: number
  marks: RunState['marks']
  settled: RunState['settled']
  nobodys: RunState['nobodys']
  txCalls: RunState['txCalls']
  controller: RunState['controller']
  aborted: RunState['aborted']
  timedOut: Watched['timedOut']
  place = -1
  readonly #ports: RunPorts
  readonly #handler: Handler
  readonly #tells: RunTells
  #known = false

  constructor(ports: RunPorts, handler: Handler, entries: readonly Ready[], tells: RunTells) {
    this.entries = entries
    this.startedAt = ports.clock.now()
    this.#ports = ports
    this.#handler = handler
    this.#tells = tells
  }

  get log(): Log {
    return this.#ports.log
  }

  get timeoutMs(): number {
    return this.#handler.job.timeoutMs
  }

  start(): void {
    const { claims, running } = this.#ports
    for (const { take } of this.entries) claims.watch(take, this)
    running.begin(this)
    // Keys are read at once; only inputs are validated, and that may take its time.
    const read = this.#handler.job.input ? inputsOf(this.#handler, this) : keysOf(this)
    if (Array.isArray(read)) this.#call(read)
    else void read.then((values) => this.#call(values))
  }

  abort(reason: Error): void {
    abort(this, reason)
  }

  /** What the watch on time gives up is a failure of the key, though its handler may still be running. */
  giveUp(outcome: Outcome): void {
    if (this.#known) return
    this.#known = true
    this.#tells.ended(outcomesOf(this.#ports, this.#handler, this, outcome))
  }

  #call(values: readonly unknown[]): void {
    const end = this.#begun(values)
    if (end) this.#returned(end)
  }

  /** How it ended for the keys that the handler did not mark itself; null: it still runs. */
  #begun(values: readonly unknown[]): End | null {
    if (values.length === 0) return succeeded
    // Asked again right before the start: a neighbour may have kept the event loop busy for a lease. Nothing is counted.
    if (!this.#ports.sure()) return { kind: 'again', inMs: 0 }
    const { events, transact } = this.#ports
    if (events.heard('job.started'))
      for (const entry of this.entries)
        if (!this.marks?.has(entry.take))
          events.emit('job.started', { job: entry.job.name, key: entry.key, attempt: attemptOf(entry) })
    const { batch } = this.#handler.job
    const value = batch === null ? values[0] : values
    const ctx = batch === null ? contextOfOne(transact, this) : contextOfBatch(transact, this)
    try {
      const answer = this.#handler.run(value as never, ctx as never)
      if (!isThenable(answer)) return succeeded
      Promise.resolve(answer).then(
        () => this.#returned(succeeded),
        (error) => this.#returned({ kind: 'thrown', error }),
      )
      return null
    } catch (error) {
      return { kind: 'thrown', error }
    }
  }

  #thrown(error: unknown): Outcome {
    for (const { job, key, take } of this.entries)
      if (this.settled?.has(take)) this.#ports.events.emit('job.threw_after_tx', { job: job.name, key, error })
    // What ends because its worker stops is given back: nothing is counted.
    if (isStopping(this.aborted)) return { kind: 'again', inMs: 0 }
    // Nor when another worker has one of the keys now, or the store went away: the rest runs again.
    if (this.nobodys) return { kind: 'again', inMs: this.nobodys.inMs }
    return { kind: 'failure', error }
  }

  /** The handler has ended. What it began with `ctx.tx` and did not wait for has not: the run ends with that. */
  #returned(end: End): void {
    const rest = this.txCalls?.rest()
    if (rest) void rest.then(() => this.#returned(end))
    else this.#over(this.#judged(end))
  }

  #judged(end: End): Outcome {
    if (end.kind === 'thrown') return this.#thrown(end.error)
    const failure = end.kind === 'success' ? this.txCalls?.failure : undefined
    return failure ? this.#thrown(failure.error) : end
  }

  #over(outcome: Outcome): void {
    this.#ports.running.ended(this)
    this.giveUp(outcome)
    this.#tells.over()
  }
}

function outcomesOf({ random, clock }: RunPorts, handler: Handler, call: Call, fallback: Outcome): Ended[] {
  const { entries, settled, marks } = call
  const tookMs = clock.now() - call.startedAt
  // Thrown or given up, one of the keys may be the cause: the next attempt goes in halves (M36).
  const rest: Outcome =
    handler.job.batch !== null && fallback.kind === 'failure'
      ? { ...fallback, together: Math.ceil(entries.length / 2) }
      : fallback
  // Drawn for failures only, once for all of them: a success waits for nothing, and chance is dear.
  let chance: number | undefined
  const list = new Array<Ended>(entries.length)
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Ready
    const isSettled = settled?.has(entry.take) === true
    const outcome = isSettled ? succeeded : (marks?.get(entry.take) ?? rest)
    if (outcome.kind === 'failure') chance ??= random.float()
    list[i] = { entry, outcome, settled: isSettled, chance: chance ?? 0, tookMs }
  }
  return list
}

/** How a call of the handler ended, before it is judged what that means for its keys. */
type End = Outcome | { readonly kind: 'thrown'; readonly error: unknown }

const succeeded: Outcome = { kind: 'success' }

const isStopping = (reason: Error | undefined) => reason instanceof RegrowError && reason.code === 'stopping'

/** Keys in their own type. One that cannot be read is marked as failed and left out: its neighbours run. */
const keysOf = (state: RunState): unknown[] => readable(state, keyOf, [])
const keyOf: Read = ({ job, key }) => job.key.decode(key)

/** Stored inputs, at once where their schema answers at once. One that does not fit is marked as failed and left out, like a key. */
function inputsOf({ job }: Handler, state: RunState): unknown[] | Promise<unknown[]> {
  const read = job.batch === null ? inputOf : namedInputOf
  const results = state.entries.map(validated)
  return results.some(isLater)
    ? Promise.all(results).then((all) => readable(state, read, all))
    : readable(state, read, results as Validated[])
}

/** What a handler gets of an entry, by what its schema says of it where it has one. */
type Read = (entry: Ready, result: Validated | undefined) => unknown

/** What `read` answers of each entry; one for which it throws is marked as failed and left out. */
function readable(state: RunState, read: Read, results: readonly Validated[]): unknown[] {
  const { entries } = state
  const values = new Array<unknown>(entries.length)
  let failed = false
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Ready
    try {
      values[i] = read(entry, results[i])
    } catch (error) {
      failed = true
      mark(state, entry, { kind: 'failure', error })
    }
  }
  return failed ? values.filter((_, i) => !state.marks?.has((entries[i] as Ready).take)) : values
}

/** What a schema says of a stored input; or why it could not be asked. */
type Validated = Answer | { readonly error: unknown }

/** The stored input is validated again: code may have changed since it was stored. */
function validated({ job, input }: Ready): Validated | Promise<Validated> {
  try {
    const answer = askSchema(job, JSON.parse(input ?? 'null'))
    return isLater(answer) ? answer.then(undefined, (error: unknown) => ({ error })) : answer
  } catch (error) {
    return { error }
  }
}

/** A batch tells inputs apart by their ids. */
const namedInputOf: Read = (entry, result) => ({ id: entry.key, input: inputOf(entry, result) })

function inputOf(_: Ready, result: Validated | undefined): unknown {
  if (!result || 'error' in result) throw result?.error
  if (!result.issues) return result.value
  throw new RegrowError(
    'bad_input',
    `The stored input does not fit the schema: ${result.issues.map(issueText).join('; ')}`,
    'The schema changed after this intent was stored. Accept the old shape too, or drop the intent.',
  )
}
