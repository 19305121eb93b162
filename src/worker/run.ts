// Upper arrow, step run: keys that may start in; runs that are over out. A handler's error never leaves this file.

import type { Clock } from '../base/clock.ts'
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import type { Random } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler } from '../job/handler.ts'
import { issueText } from '../job/issue-text.ts'
import { attemptOf, type Outcome } from '../job/outcome.ts'
import type { Ended, Ready } from './batch.ts'
import type { Claims } from './claims.ts'
import { abort, contextOfMany, contextOfOne, type RunState } from './context.ts'
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

/** Calls the handler once for these entries. Resolves when their outcomes are known; `over` when the call has really ended. */
export function run(
  ports: RunPorts,
  handler: Handler,
  entries: readonly Ready[],
): { ended: Promise<Ended[]>; over: Promise<void> } {
  const marks: RunState['marks'] = new Map()
  const none = { nobodys: undefined, controller: undefined, aborted: undefined }
  const state: RunState = { entries, marks, settled: new Set(), ...none }
  for (const { take } of entries) ports.claims.watch(take, (reason) => abort(state, reason))
  const startedAt = ports.clock.now()
  const outcome = call(ports, handler, state)
  const over = outcome.then(() => {})
  // What the watch on time gives up is a failure of the key, though its handler may still be running.
  const givenUp = ports.running.begin(state, handler.job.timeoutMs, startedAt, over)
  const ended = Promise.race([outcome, givenUp]).then((fallback) => {
    // Thrown or given up, one of the keys may be the cause: the next attempt goes in halves (M36).
    const together = handler.many && fallback.kind === 'failure' ? { together: Math.ceil(entries.length / 2) } : {}
    const outcomes = entries.map(({ take }): Outcome => {
      const marked: Outcome | undefined = state.settled.has(take) ? { kind: 'success' } : state.marks.get(take)
      return marked ?? { ...fallback, ...together }
    })
    // Drawn for failures only: a success waits for nothing, and chance is dear.
    const chance = outcomes.some(({ kind }) => kind === 'failure') ? ports.random.float() : 0
    const tookMs = ports.clock.now() - startedAt
    return entries.map((entry, i): Ended => {
      const settled = state.settled.has(entry.take)
      return { entry, outcome: outcomes[i] as Outcome, settled, chance, tookMs }
    })
  })
  return { ended, over }
}

/** Runs the handler and tells how it ended for the keys that it did not mark itself. */
async function call(ports: RunPorts, handler: Handler, state: RunState): Promise<Outcome> {
  const { events } = ports
  try {
    const values = await valuesOf(handler, state)
    if (values.length === 0) return { kind: 'success' }
    // Asked again right before the start: a neighbour may have kept the event loop busy for a lease. Nothing is counted.
    if (!ports.sure()) return { kind: 'again', inMs: 0 }
    if (events.heard('job.started'))
      for (const entry of state.entries.filter(({ take }) => !state.marks.has(take)))
        events.emit('job.started', { job: entry.job.name, key: entry.key, attempt: attemptOf(entry) })
    const value = handler.many ? values : values[0]
    const ctx = handler.many ? contextOfMany(ports.transact, state) : contextOfOne(ports.transact, state)
    await handler.run(value as never, ctx as never)
    return { kind: 'success' }
  } catch (error) {
    for (const { job, key, take } of state.entries)
      if (state.settled.has(take)) events.emit('job.threwAfterTx', { job: job.name, key, error })
    // What ends because its worker stops is given back: nothing is counted.
    if (isStopping(state.aborted)) return { kind: 'again', inMs: 0 }
    // Nor when another worker has one of the keys now, or the store went away: the rest runs again.
    if (state.nobodys) return { kind: 'again', inMs: state.nobodys.inMs }
    return { kind: 'failure', error }
  }
}

const isStopping = (reason: Error | undefined) => reason instanceof RegrowError && reason.code === 'stopping'

/** What the handler is given. A key whose input cannot be read is marked as failed and left out: its neighbours run. */
async function valuesOf(handler: Handler, state: RunState): Promise<unknown[]> {
  const values: unknown[] = []
  for (const entry of state.entries)
    try {
      const value = await handlerValue(entry)
      values.push(handler.many && entry.job.input ? { id: entry.key, input: value } : value)
    } catch (error) {
      state.marks.set(entry.take, { kind: 'failure', error })
    }
  return values
}

/** The key in its own type, or the stored input, validated again: code may have changed since it was stored. */
async function handlerValue({ job, key, input }: Ready): Promise<unknown> {
  if (!job.input) return job.key.decode(key)
  const result = await job.input['~standard'].validate(JSON.parse(input ?? 'null'))
  if (!result.issues) return result.value
  throw new RegrowError(
    'bad_input',
    `The stored input does not fit the schema: ${result.issues.map(issueText).join('; ')}`,
    'The schema changed after this intent was stored. Accept the old shape too, or drop the intent.',
  )
}
