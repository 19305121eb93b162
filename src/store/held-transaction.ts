// Which transactions of stores with room for one the running code was called in. A call that would wait for such a transaction
// would wait for itself.
import { AsyncLocalStorage } from 'node:async_hooks'

interface Held {
  readonly by: object
  /** False once the transaction has ended: what it left running may use the store like anything else. */
  open: boolean
  readonly outer: Held | undefined
}

/** The innermost first. */
const held = new AsyncLocalStorage<Held>()

/** True when the running code was called in an open transaction on `connection`. */
export function isHeld(connection: object): boolean {
  for (let each = held.getStore(); each; each = each.outer) if (each.open && each.by === connection) return true
  return false
}

/** True in a transaction of a store that has room for one: what is called there must not wait for others to use it. */
export function isInTransaction(): boolean {
  for (let each = held.getStore(); each; each = each.outer) if (each.open) return true
  return false
}

/** Runs `work` as the body of a transaction on `connection`. */
export async function holding<T>(connection: object, work: () => Promise<T>): Promise<T> {
  const state: Held = { by: connection, open: true, outer: held.getStore() }
  try {
    return await held.run(state, work)
  } finally {
    state.open = false
  }
}
