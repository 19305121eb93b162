// A store with one connection, or room for one transaction: what is called inside that transaction and does not use it
// would wait for itself until a deadline. It is refused at once, with the cure; calls from elsewhere wait in line.
import { RegrowError } from '../../base/errors.ts'
import { limited } from '../../base/semaphore.ts'
import { holding, isHeld } from '../../store/held-transaction.ts'
import type { SqlDatabase } from './client.ts'

/**
 * Lets one transaction at a time use `connection`, and refuses what would wait for the transaction that it is called in.
 * Statements do not stand in that line: they pass all transactions but the one that is open, so beat and settle get their turn.
 */
export function oneConnection<Tx>(connection: object, db: SqlDatabase<Tx>): SqlDatabase<Tx> {
  const refuse = () => {
    if (!isHeld(connection)) return
    throw new RegrowError(
      'inside_tx',
      'A call inside ctx.tx or app.transaction that does not use its transaction: this store has one connection, and the transaction holds it until it ends',
      'Use what the function is given: tx.query(…), enqueue(…, { tx }). Or call it after the transaction; or use a store with more connections, such as postgres(url).',
    )
  }
  return {
    query: async (text, params) => {
      refuse()
      return db.query(text, params)
    },
    queryTheirs: async (text, params, lane) => {
      refuse()
      return db.queryTheirs(text, params, lane)
    },
    queryWithin: async (timeoutMs, text, params, options) => {
      refuse()
      return db.queryWithin(timeoutMs, text, params, options)
    },
    transaction: oneTransaction(connection, db.transaction, refuse),
  }
}

/** One transaction at a time, where statements have connections of their own; a transaction inside another is refused. */
export function oneTransaction<Tx>(
  connection: object,
  transaction: SqlDatabase<Tx>['transaction'],
  refuse = () => refuseSecond(connection),
): SqlDatabase<Tx>['transaction'] {
  const inTurn = limited(1)
  return async (fn, options) => {
    refuse()
    return inTurn(() => transaction((tx, own) => holding(connection, () => fn(tx, own)), options))
  }
}

function refuseSecond(connection: object): void {
  if (!isHeld(connection)) return
  throw new RegrowError(
    'inside_tx',
    'A transaction inside ctx.tx or app.transaction: this store has connections for one at a time, and the outer one holds it',
    'Do all in the outer one, or open the second after it; or give the store more connections.',
  )
}
