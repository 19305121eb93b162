// Transactions that regrow opens: hints of what is enqueued inside with `{ tx }` are pushed after the commit, and not at
// all when it rolls back.
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { SqlExecutor, TransactionOptions } from '../store/executor.ts'

/** Hints that wait for the commit of a transaction that regrow opened, by what its function was given. */
const waiting = new WeakMap<object, Hint[]>()

/** `open` with hints that wait for its commit. */
export function hintingAfterCommit<Tx>(
  open: <R>(fn: (tx: SqlExecutor, own: Tx) => Promise<R>, options?: TransactionOptions) => Promise<R>,
  push: Push,
): <T>(fn: (tx: SqlExecutor, own: Tx) => Promise<T>, options?: TransactionOptions) => Promise<T> {
  return async (fn, options) => {
    const hints: Hint[] = []
    const value = await open(async (tx, own) => {
      const key = own as object
      waiting.set(key, hints)
      try {
        return await fn(tx, own)
      } finally {
        // What comes later has no commit to wait for.
        waiting.delete(key)
      }
    }, options)
    if (hints.length > 0) await push(hints)
    return value
  }
}

/** Keeps hints until the commit when `tx` is a transaction that regrow opened; false: it is one of the user's own. */
export function pushAfterCommit(tx: object, hints: readonly Hint[]): boolean {
  const list = waiting.get(tx)
  list?.push(...hints)
  return list !== undefined
}
