// Transactions that regrow opens: hints of what is enqueued inside with `{ tx }` are pushed after the commit, and not at
// all when it rolls back. So is what else waits for the commit.
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { StoreTransaction, TransactionOptions } from '../store/transaction.ts'

/** What waits for the commit of a transaction that regrow opened, by what its function was given. */
const waiting = new WeakMap<object, Waiting>()

interface Waiting {
  /** The same transaction, as the store's ports take it. */
  readonly tx: StoreTransaction
  readonly hints: Hint[]
  readonly acts: (() => Promise<unknown>)[]
}

/** `open` with hints that wait for its commit. */
export function hintingAfterCommit<Tx>(
  open: <R>(fn: (tx: StoreTransaction, own: Tx) => Promise<R>, options?: TransactionOptions) => Promise<R>,
  push: Push,
): <T>(fn: (tx: StoreTransaction, own: Tx) => Promise<T>, options?: TransactionOptions) => Promise<T> {
  return async (fn, options) => {
    const hints: Hint[] = []
    const acts: (() => Promise<unknown>)[] = []
    const value = await open(async (tx, own) => {
      const key = own as object
      waiting.set(key, { tx, hints, acts })
      try {
        return await fn(tx, own)
      } finally {
        // What comes later has no commit to wait for.
        waiting.delete(key)
      }
    }, options)
    if (hints.length > 0) await push(hints)
    for (const act of acts) await act()
    return value
  }
}

/** A transaction that regrow opened and that has not ended, as the store's ports take it; undefined: it is one of the user's own. */
export const openedHere = (tx: object): StoreTransaction | undefined => waiting.get(tx)?.tx

/** Keeps hints until the commit when `tx` is a transaction that regrow opened; false: it is one of the user's own. */
export function pushAfterCommit(tx: object, hints: readonly Hint[]): boolean {
  const list = waiting.get(tx)
  list?.hints.push(...hints)
  return list !== undefined
}

/** Calls `act` after the commit when `tx` is a transaction that regrow opened; false: it is one of the user's own. */
export function afterCommit(tx: object, act: () => Promise<unknown>): boolean {
  waiting.get(tx)?.acts.push(act)
  return waiting.has(tx)
}
