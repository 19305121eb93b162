// A transaction of the user's own, as the store uses it. Its answers are checked: wrappers of clients are written by hand.
import { messageOf, RegrowError } from '../../../base/errors.ts'
import { kindOfValue } from '../../../base/suggest.ts'
import type { StoreTransaction } from '../../../store/transaction.ts'
import type { SqlExecutor } from '../../sql/client.ts'
import { assertConnected } from '../../sql/connected.ts'
import { sqlState } from './errors.ts'
import { transactionOf } from './opaque.ts'

/** `of`: the call that was given it, for the error. */
export function adoptTransaction(of: string, tx: object): StoreTransaction {
  const { query } = tx as { query?: (text: string, params: unknown) => unknown }
  if (typeof query !== 'function') throw badTransaction(of, 'has no function `query`')
  assertConnected(tx, `The \`tx\` of ${of}`)
  return transactionOf({
    async query(text, params) {
      const answer = (await asked(of, () => query.call(tx, text, params))) as { rows?: unknown } | null | undefined
      if (Array.isArray(answer?.rows)) return answer as Awaited<ReturnType<SqlExecutor['query']>>
      throw badTransaction(of, `answered ${kindOfValue(answer)} without \`rows\``)
    },
  })
}

/** A database without regrow's tables says so in words that are no help: the transaction is open on another one than the store's. */
async function asked(of: string, ask: () => unknown): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (!missingStates.has(sqlState(error) ?? '') || !/\bregrow\b/.test(messageOf(error))) throw error
    throw new RegrowError(
      'bad_options',
      `The \`tx\` of ${of} is open on a database that has none of regrow's tables; expected the database of the store`,
      'Open the transaction on the database that the store is in, or enqueue without `tx` after it has committed. Let this error roll your transaction back.',
      error,
    )
  }
}

/** No such table, no such schema, no such function. */
const missingStates = new Set(['42P01', '3F000', '42883'])

const badTransaction = (of: string, what: string) =>
  new RegrowError(
    'bad_options',
    `The \`tx\` of ${of} ${what}; expected a client of pg, a transaction of PGlite, or anything with query(text, params) that answers { rows }`,
    'Wrap another client: { query: async (text, params) => ({ rows: await … }) }. Let this error roll your transaction back.',
  )
