// app.transaction: hints of what is enqueued inside are pushed after its commit, and not at all when it rolls back.
import type { Transaction } from '../job/handler.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import { type SqlExecutor, transactionOn } from '../store/executor.ts'

/** Hints that wait for the commit of a transaction that regrow opened. */
const waiting = new WeakMap<object, Hint[]>()

export async function transaction<T>(
  open: <R>(fn: (tx: SqlExecutor) => Promise<R>) => Promise<R>,
  push: Push,
  fn: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const hints: Hint[] = []
  const value = await open((raw) => {
    const tx = transactionOn(raw)
    waiting.set(tx, hints)
    return fn(tx)
  })
  if (hints.length > 0) await push(hints)
  return value
}

/** Keeps hints until the commit when `tx` is a transaction of `app.transaction`; false: it is one of the user's own. */
export function pushAfterCommit(tx: object, hints: readonly Hint[]): boolean {
  const list = waiting.get(tx)
  list?.push(...hints)
  return list !== undefined
}
