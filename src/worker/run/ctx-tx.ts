// ctx.tx: the handler's effects and the settle of its run in one commit. It opens late and stays short.
import type { Clock } from '../../base/clock.ts'
import { RegrowError } from '../../base/errors.ts'
import { checkOptions, flag } from '../../base/options.ts'
import type { Random } from '../../base/random.ts'
import { retry } from '../../base/retry.ts'
import type { Transaction } from '../../job/handler.ts'
import { type BuiltStatement, builtStatement } from '../../job/pending.ts'
import type { Classify } from '../../store/errors.ts'
import type { Finish, Ledger, SettleRow } from '../../store/ledger.ts'
import type { Source } from '../../store/source.ts'
import type { StoreTransaction, TransactionOptions } from '../../store/transaction.ts'
import type { Claims } from '../held-claims.ts'
import type { Ready } from '../stages.ts'
import type { RunState } from './context.ts'
import { effectsOf } from './shared-transactions.ts'
import { type Abandon, TxCalls } from './tx-calls.ts'

/** A function gets the store's own transaction, whose type only the user's code knows; anything else is read as a statement. */
export type Transact = (state: RunState, work: unknown, options?: { settle?: boolean }) => Promise<unknown>

type Work<T> = (tx: never) => Promise<T>

/** How long a run waits whose transaction found the store away. */
const awayMs = 1_000

/**
 * A transaction that was in another one's way is begun again as a whole, a second long at most; after that its conflict is a failure
 * like any other: it may be one that no other try ends.
 */
const conflict = { delayMs: 10, triesMax: 10 }

/** Thrown when the claim was gone at the fence; everything was rolled back. */
export class LeaseLost extends RegrowError {
  constructor() {
    super(
      'lease_lost',
      'The claim of this run is gone; nothing was committed',
      'Let it end: another worker has the key, or will get it.',
    )
  }
}

export interface TransactPorts {
  readonly clock: Clock
  readonly random: Random
  readonly ledger: Ledger
  readonly claims: Claims
  readonly classify: Classify
  readonly transaction: <T>(
    fn: (tx: StoreTransaction, own: unknown) => Promise<T>,
    options?: TransactionOptions,
  ) => Promise<T>
  readonly source: (entry: Ready) => Source
  /** Hears of each job whose runs use ctx.tx. */
  readonly used: (job: string) => void
}

export function transacts(ports: TransactPorts): Transact {
  const { source, clock } = ports
  const gathered = effectsOf(ports)
  const transact = async (state: RunState, calls: TxCalls, work: unknown, settle: boolean) => {
    if (typeof work === 'function') return inTransaction(ports, state, calls, work as Work<unknown>, settle)
    const statement = statementOf(work)
    const alone = async () => {
      const send = (tx: Transaction) => tx.query(statement.text, [...statement.values] as never)
      return { rows: (await inTransaction(ports, state, calls, send, settle)).rows }
    }
    const [entry] = state.entries
    const finish = entry ? source(entry).finishes : null
    const shares = gathered && entry && settle && state.entries.length === 1 && !state.marks && finish !== 'slot'
    if (!shares) return alone()
    const maySend = () => calls.refused === undefined
    const answer = await gathered({ entry, statement, row: done(entry, finish), maySend, alone })
    state.settled = new Set([entry.take])
    return answer
  }
  return (state, work, options) => {
    ports.used((state.entries[0] as Ready).job.name)
    state.txCalls ??= callsOf(state, clock)
    const calls = state.txCalls
    const settle = options?.settle ?? true
    return calls.begin(settle, async () => {
      if (options !== undefined) checkOptions('ctx.tx()', options, { settle: flag }, 'Nothing was sent.')
      return transact(state, calls, work, settle)
    })
  }
}

function callsOf({ aborted }: RunState, clock: Clock): TxCalls {
  const calls = new TxCalls(clock)
  if (aborted) calls.abort(aborted)
  return calls
}

function inTransaction<T>(
  ports: TransactPorts,
  state: RunState,
  calls: TxCalls,
  fn: Work<T>,
  settle: boolean,
): Promise<T> {
  const again = (error: unknown, tries: number) =>
    ports.classify(error) === 'conflict' && tries < conflict.triesMax && !state.aborted
  const work = () => attempt(ports, state, calls, fn, settle)
  return retry(ports.clock, ports.random, { delayMs: conflict.delayMs, again }, work)
}

async function attempt<T>(
  { ledger, claims, transaction, source }: TransactPorts,
  state: RunState,
  calls: TxCalls,
  fn: Work<T>,
  settle: boolean,
): Promise<T> {
  let covered: readonly Ready[] = []
  const lost = () => {
    // Nobody is to blame: the keys that are still ours run again, nothing is counted.
    state.nobodys = { inMs: 0 }
    return new LeaseLost()
  }
  let closed = () => {}
  const opened = (abandon: Abandon) => (closed = calls.opened(abandon))
  const effects = async (tx: StoreTransaction, own: unknown) => {
    calls.assertAlone()
    const value = await fn(own as never)
    calls.assertAlone()
    covered = state.entries.filter(({ take }) => !state.marks?.has(take))
    // Keys that the handler marked are not settled here, but effects may be theirs: they are fenced, too. All in one
    // statement and first, so that rows are locked in key order (M30).
    if (!settle || covered.length < state.entries.length) {
      const fenced = await ledger.fence(claims.holder, state.entries.map(claimOf), tx)
      if (fenced.size < state.entries.length) throw lost()
    }
    // S4: the fence is the last statement before COMMIT; one key lost rolls back the effects of all.
    const held =
      settle && covered.length > 0
        ? await ledger.settle(
            claims.holder,
            covered.map((entry) => done(entry, source(entry).finishes)),
            tx,
          )
        : null
    if (held && held.size < covered.length) throw lost()
    return value
  }
  const value = await transaction(effects, { opened })
    .catch((error) => {
      // Closed because of the abort: a run that took too long has failed, and one that lost its claim or was stopped has not.
      if (calls.abandoned) throw calls.abandoned
      // Store errors are nobody's failure: neither a connection that broke, nor a fence that got no answer.
      if (error instanceof RegrowError && ['store_away', 'deadline'].includes(error.code))
        state.nobodys = { inMs: awayMs }
      throw error
    })
    .finally(() => closed())
  if (settle) state.settled = new Set(covered.map(({ take }) => take))
  return value
}

function statementOf(work: unknown): BuiltStatement {
  const statement = builtStatement(work)
  if (statement && statement.text.trim() !== '') return statement
  throw new RegrowError(
    'bad_statement',
    `ctx.tx was given ${work === null ? 'null' : statement ? 'an empty statement' : typeof work}`,
    'Give a function of the transaction, or one statement: sql`update …`, { text, values }, a Drizzle or Kysely query.',
  )
}

const claimOf = ({ job, key, take }: Ready) => ({ job: job.name, key, take })

const done = ({ job, key, take }: Ready, finish: Finish | null): SettleRow => ({
  job: job.name,
  key,
  take,
  state: 'done',
  version: null,
  failures: 0,
  crashes: 0,
  retryMs: 0,
  error: null,
  finish,
})
