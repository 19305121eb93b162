// The ctx of handlers: what a run may use, and the marks it leaves. Signals are made only when somebody asks for one.
import { type Duration, milliseconds } from '../../base/duration.ts'
import { messageOf, RegrowError } from '../../base/errors.ts'
import type { Log, LogRecord } from '../../base/log.ts'
import type { BatchContext, Context } from '../../job/handler.ts'
import { attemptOf, type Outcome } from '../../job/outcome.ts'
import type { Ready } from '../stages.ts'
import type { Transact } from './ctx-tx.ts'
import type { TxCalls } from './tx-calls.ts'

/** One call of a handler while it runs. */
export interface RunState {
  readonly entries: readonly Ready[]
  /** Where `ctx.log` writes. */
  readonly log: Log
  /** Outcomes that the handler chose for single keys, by take; made by the first one. */
  marks: Map<number, Outcome> | undefined
  /** Takes that `ctx.tx` has settled; made by the first one. */
  settled: Set<number> | undefined
  /** Set when `ctx.tx` could not commit through no fault of the handler: nothing is counted, it runs again. */
  nobodys: { readonly inMs: number } | undefined
  /** The calls of `ctx.tx`; made by the first one. */
  txCalls: TxCalls | undefined
  controller: AbortController | undefined
  aborted: Error | undefined
}

export function abort(state: RunState, reason: Error): void {
  state.aborted ??= reason
  state.controller?.abort(state.aborted)
  state.txCalls?.abort(state.aborted)
}

export const contextOfOne = (transact: Transact, state: RunState): Context<never> => new OneContext(transact, state)

export const contextOfBatch = (transact: Transact, state: RunState): BatchContext<unknown, never> =>
  new ContextOfBatch(transact, state)

/**
 * Most runs use one or two of these: each is made when it is asked for, and may be taken out of the ctx
 * (`const { tx } = ctx`), since what a getter answers is bound to its run.
 */
class OneContext implements Context<never> {
  readonly #transact: Transact
  readonly #state: RunState

  constructor(transact: Transact, state: RunState) {
    this.#transact = transact
    this.#state = state
  }

  get #entry(): Ready {
    return this.#state.entries[0] as Ready
  }
  get job(): string {
    return this.#entry.job.name
  }
  get tx() {
    return txOf(this.#transact, this.#state)
  }
  get log() {
    return logOf(this.#state)
  }
  get signal(): AbortSignal {
    return signalOf(this.#state)
  }
  get attempt(): number {
    return attemptOf(this.#entry)
  }
  get idempotencyKey(): string {
    return idempotencyKey(this.#entry)
  }
  get snooze() {
    return (delay?: Duration) => mark(this.#state, this.#entry, snoozed(delay))
  }
  get quarantine() {
    return (reason: string) => mark(this.#state, this.#entry, quarantined(reason))
  }
}

class ContextOfBatch implements BatchContext<unknown, never> {
  readonly #transact: Transact
  readonly #state: RunState
  #byKey: ReadonlyMap<string, Ready> | undefined

  constructor(transact: Transact, state: RunState) {
    this.#transact = transact
    this.#state = state
  }

  get job(): string {
    return (this.#state.entries[0] as Ready).job.name
  }
  get tx() {
    return txOf(this.#transact, this.#state)
  }
  get log() {
    return logOf(this.#state)
  }
  get signal(): AbortSignal {
    return signalOf(this.#state)
  }
  get fail() {
    return (key: unknown, error: unknown) =>
      mark(this.#state, this.#find(key), { kind: 'failure', error: error ?? 'ctx.fail() was called without an error' })
  }
  get snooze() {
    return (key: unknown, delay?: Duration) => mark(this.#state, this.#find(key), snoozed(delay))
  }
  get quarantine() {
    return (key: unknown, reason: string) => mark(this.#state, this.#find(key), quarantined(reason))
  }
  get idempotencyKey() {
    return (key: unknown) => idempotencyKey(this.#find(key))
  }

  #find(key: unknown): Ready {
    const { entries } = this.#state
    this.#byKey ??= new Map(entries.map((entry) => [entry.key, entry]))
    const entry = this.#byKey.get((entries[0] as Ready).job.key.encode(key))
    if (entry) return entry
    throw new RegrowError(
      'foreign_key',
      `The key ${messageOf(key)} is not in this batch`,
      'Pass a key that the handler was given.',
    )
  }
}

const txOf = (transact: Transact, state: RunState): Context<never>['tx'] =>
  ((work: unknown, options?: { settle?: boolean }) => transact(state, work, options)) as Context<never>['tx']

function logOf({ entries, log }: RunState): Context['log'] {
  const { job, key } = entries[0] as Ready
  const fields = { job: job.name, ...(entries.length === 1 ? { key } : { keys: entries.length }) }
  const at = (level: LogRecord['level']) => (message: string) =>
    log({ level, message: messageOf(message), event: null, fields })
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

function signalOf(state: RunState): AbortSignal {
  if (!state.controller) {
    state.controller = new AbortController()
    if (state.aborted) state.controller.abort(state.aborted)
  }
  return state.controller.signal
}

const snoozed = (delay: Duration = 0): Outcome => ({
  kind: 'again',
  inMs: milliseconds(delay, 'The delay of ctx.snooze()'),
})

/** A person reads the reason, and finds the call where there is none. */
const quarantined = (reason: string): Outcome => ({
  kind: 'quarantine',
  reason: (reason ?? '') === '' ? 'ctx.quarantine() was called without a reason' : reason,
})

/** The outcome of one key, whatever the call returns. */
export function mark(state: RunState, entry: Ready, outcome: Outcome): void {
  if (state.settled?.has(entry.take))
    throw new RegrowError(
      'already_settled',
      'ctx.tx has settled this run',
      'Call snooze, fail or quarantine before ctx.tx, or instead of it.',
    )
  state.marks ??= new Map()
  state.marks.set(entry.take, outcome)
}

/** A slash in a key or version is written as in an address: 'a' in version 'b/c' is not 'a/b' in version 'c'. */
const idempotencyKey = ({ job, key, version }: Ready) =>
  [job.name, ...[key, version].flatMap((part) => part?.replace(/[%/]/g, encodeURIComponent) ?? [])].join('/')
