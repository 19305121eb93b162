// Upper arrow, step run: keys that may start in; runs that are over out. A handler's error never leaves this file.
import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import type { Random } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler } from '../job/handler.ts'
import { issueText } from '../job/issue-text.ts'
import type { Job } from '../job/job.ts'
import { attemptOf, type Outcome } from '../job/outcome.ts'
import type { Ended, Ready } from './batch.ts'
import type { Claims } from './claims.ts'
import { abort, contextOfMany, contextOfOne, mark, type RunState, stateOf } from './context.ts'
import type { Running } from './running.ts'
import type { Transact } from './transact.ts'

export interface RunPorts {
  readonly clock: Clock
  readonly random: Random
  readonly claims: Claims
  readonly running: Running
  readonly events: Events<EventMap>
  readonly transact: Transact
  /** False: our claims may be somebody else's by now. */
  readonly sure: () => boolean
}

/** What comes of a call. Not as promises: at tens of thousands of runs a second each of them counts. */
export interface RunTells {
  /** The outcomes are known. */
  ended(list: Ended[]): void
  /** The call has really ended. */
  over(): void
}

/** Calls the handler once for these entries, and tells what comes of it. */
export function run(ports: RunPorts, handler: Handler, entries: readonly Ready[], tells: RunTells): void {
  const state = stateOf(entries)
  const lost = (reason: Error) => abort(state, reason)
  for (const { take } of entries) ports.claims.watch(take, lost)
  const startedAt = ports.clock.now()
  let known = false
  const end = (fallback: Outcome) => {
    if (known) return
    known = true
    tells.ended(outcomesOf(ports, handler, state, fallback, ports.clock.now() - startedAt))
  }
  // What the watch on time gives up is a failure of the key, though its handler may still be running.
  const finished = ports.running.begin(state, handler.job.timeoutMs, startedAt, end)
  void call(ports, handler, state).then((outcome) => {
    finished()
    end(outcome)
    tells.over()
  })
}

function outcomesOf(
  { random }: RunPorts,
  handler: Handler,
  { entries, settled, marks }: RunState,
  fallback: Outcome,
  tookMs: number,
): Ended[] {
  // Thrown or given up, one of the keys may be the cause: the next attempt goes in halves (M36).
  const rest: Outcome =
    handler.many && fallback.kind === 'failure' ? { ...fallback, together: Math.ceil(entries.length / 2) } : fallback
  const outcomes = entries.map(({ take }) => (settled?.has(take) ? succeeded : (marks?.get(take) ?? rest)))
  // Drawn for failures only: a success waits for nothing, and chance is dear.
  const chance = outcomes.some(({ kind }) => kind === 'failure') ? random.float() : 0
  return entries.map(
    (entry, i): Ended => ({
      entry,
      outcome: outcomes[i] as Outcome,
      settled: settled?.has(entry.take) === true,
      chance,
      tookMs,
    }),
  )
}

const succeeded: Outcome = { kind: 'success' }

/** Runs the handler and tells how it ended for the keys that it did not mark itself. */
async function call(ports: RunPorts, handler: Handler, state: RunState): Promise<Outcome> {
  const { events } = ports
  try {
    // Keys are read at once; only inputs are validated, and that may take its time.
    const read = handler.job.input ? inputsOf(handler, state) : keysOf(state)
    const values = Array.isArray(read) ? read : await read
    if (values.length === 0) return succeeded
    // Asked again right before the start: a neighbour may have kept the event loop busy for a lease. Nothing is counted.
    if (!ports.sure()) return { kind: 'again', inMs: 0 }
    if (events.heard('job.started'))
      for (const entry of state.entries.filter(({ take }) => !state.marks?.has(take)))
        events.emit('job.started', { job: entry.job.name, key: entry.key, attempt: attemptOf(entry) })
    const value = handler.many ? values : values[0]
    const ctx = handler.many ? contextOfMany(ports.transact, state) : contextOfOne(ports.transact, state)
    await handler.run(value as never, ctx as never)
    return succeeded
  } catch (error) {
    for (const { job, key, take } of state.entries)
      if (state.settled?.has(take)) events.emit('job.threwAfterTx', { job: job.name, key, error })
    // What ends because its worker stops is given back: nothing is counted.
    if (isStopping(state.aborted)) return { kind: 'again', inMs: 0 }
    // Nor when another worker has one of the keys now, or the store went away: the rest runs again.
    if (state.nobodys) return { kind: 'again', inMs: state.nobodys.inMs }
    return { kind: 'failure', error }
  }
}

const isStopping = (reason: Error | undefined) => reason instanceof RegrowError && reason.code === 'stopping'

/** Keys in their own type. One that cannot be read is marked as failed and left out: its neighbours run. */
function keysOf(state: RunState): unknown[] {
  const values: unknown[] = []
  for (const entry of state.entries)
    try {
      values.push(entry.job.key.decode(entry.key))
    } catch (error) {
      mark(state, entry, { kind: 'failure', error })
    }
  return values
}

/** Stored inputs, at once where their schema answers at once. One that does not fit is marked as failed and left out, like a key. */
function inputsOf(handler: Handler, state: RunState): unknown[] | Promise<unknown[]> {
  const results = state.entries.map(validated)
  const read = (all: readonly Validated[]) => fitting(handler, state, all)
  return results.some(isLater) ? Promise.all(results).then(read) : read(results as Validated[])
}

function fitting(handler: Handler, state: RunState, results: readonly Validated[]): unknown[] {
  const values: unknown[] = []
  for (const [i, entry] of state.entries.entries())
    try {
      const input = inputOf(results[i] as Validated)
      values.push(handler.many ? { id: entry.key, input } : input)
    } catch (error) {
      mark(state, entry, { kind: 'failure', error })
    }
  return values
}

/** What a schema says of a stored input; or why it could not be asked. */
type Validated = Awaited<ReturnType<Schema['~standard']['validate']>> | { readonly error: unknown }
type Schema = NonNullable<Job['input']>

const isLater = (result: Validated | Promise<Validated>): result is Promise<Validated> => 'then' in result

/** The stored input is validated again: code may have changed since it was stored. */
function validated({ job, input }: Ready): Validated | Promise<Validated> {
  try {
    const answer = (job.input as Schema)['~standard'].validate(JSON.parse(input ?? 'null'))
    return 'then' in answer ? answer.then(undefined, (error: unknown) => ({ error })) : answer
  } catch (error) {
    return { error }
  }
}

function inputOf(result: Validated): unknown {
  if ('error' in result) throw result.error
  if (!result.issues) return result.value
  throw new RegrowError(
    'bad_input',
    `The stored input does not fit the schema: ${result.issues.map(issueText).join('; ')}`,
    'The schema changed after this intent was stored. Accept the old shape too, or drop the intent.',
  )
}
