// The ctx of handlers: what a run may use, and the marks it leaves. Signals are made only when somebody asks for one.
import { type Duration, milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import { log } from '../base/log.ts'
import type { Context, ManyContext } from '../job/handler.ts'
import { attemptOf, type Outcome } from '../job/outcome.ts'
import type { Ready } from './batch.ts'
import type { Transact } from './transact.ts'

/** One call of a handler while it runs. */
export interface RunState {
  readonly entries: readonly Ready[]
  /** Outcomes that the handler chose for single keys, by take. */
  readonly marks: Map<number, Outcome>
  /** Takes that `ctx.tx` has settled. */
  readonly settled: Set<number>
  /** Set when `ctx.tx` could not commit through no fault of the handler: nothing is counted, it runs again. */
  nobodys: { readonly inMs: number } | undefined
  controller: AbortController | undefined
  aborted: Error | undefined
}

export function abort(state: RunState, reason: Error): void {
  state.aborted ??= reason
  state.controller?.abort(state.aborted)
}

export function contextOfOne(transact: Transact, state: RunState): Context<never> {
  const entry = state.entries[0] as Ready
  return {
    ...shared(transact, state),
    get signal() {
      return signalOf(state)
    },
    attempt: attemptOf(entry),
    get idempotencyKey() {
      return idempotencyKey(entry)
    },
    again: (options = {}) => mark(state, entry, again(options.in)),
    quarantine: (reason) => mark(state, entry, { kind: 'quarantine', reason }),
  }
}

export function contextOfMany(transact: Transact, state: RunState): ManyContext<unknown, never> {
  const byKey = new Map(state.entries.map((entry) => [entry.key, entry]))
  const find = (key: unknown): Ready => {
    const job = (state.entries[0] as Ready).job
    const entry = byKey.get(job.key.encode(key))
    if (entry) return entry
    throw new RegrowError(
      'foreign_key',
      `The key ${String(key)} is not in this batch`,
      'Pass a key that the handler was given.',
    )
  }
  return {
    ...shared(transact, state),
    get signal() {
      return signalOf(state)
    },
    fail: (key, error) => mark(state, find(key), { kind: 'failure', error }),
    again: (key, options = {}) => mark(state, find(key), again(options.in)),
    quarantine: (key, reason) => mark(state, find(key), { kind: 'quarantine', reason }),
    idempotencyKey: (key) => idempotencyKey(find(key)),
  }
}

function shared(transact: Transact, state: RunState) {
  const { job, key } = state.entries[0] as Ready
  const told = { job: job.name, ...(state.entries.length === 1 ? { key } : { keys: state.entries.length }) }
  return {
    job: job.name,
    tx: <T>(fn: (tx: never) => Promise<T>, options: { settle?: boolean } = {}) => transact(state, fn, options),
    log: {
      info: (message: string) => log('info', message, told),
      warn: (message: string) => log('warn', message, told),
      error: (message: string) => log('error', message, told),
    },
  }
}

function signalOf(state: RunState): AbortSignal {
  if (!state.controller) {
    state.controller = new AbortController()
    if (state.aborted) state.controller.abort(state.aborted)
  }
  return state.controller.signal
}

const again = (delay: Duration | undefined): Outcome => ({
  kind: 'again',
  inMs: delay === undefined ? 0 : milliseconds(delay, '`in`'),
})

function mark(state: RunState, entry: Ready, outcome: Outcome): void {
  if (state.settled.has(entry.take))
    throw new RegrowError(
      'already_settled',
      'ctx.tx has settled this run',
      'Call again, fail or quarantine before ctx.tx, or instead of it.',
    )
  state.marks.set(entry.take, outcome)
}

/** A slash in a key or version is written as in an address: 'a' in version 'b/c' is not 'a/b' in version 'c'. */
const idempotencyKey = ({ job, key, version }: Ready) =>
  [job.name, ...[key, version].flatMap((part) => part?.replace(/[%/]/g, encodeURIComponent) ?? [])].join('/')
