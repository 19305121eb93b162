// A transaction of the user's own, as the store uses it. Its answers are checked: wrappers of clients are written by hand.
import { RegrowError } from '../../../base/errors.ts'
import { kindOfValue } from '../../../base/suggest.ts'
import type { StoreTransaction } from '../../../store/transaction.ts'
import type { SqlExecutor } from '../../sql/client.ts'
import { assertConnected } from '../../sql/connected.ts'
import { transactionOf } from './opaque.ts'

/** `of`: the call that was given it, for the error. */
export function adoptTransaction(of: string, tx: object): StoreTransaction {
  const { query } = tx as { query?: (text: string, params: unknown) => unknown }
  if (typeof query !== 'function') throw badTransaction(of, 'has no function `query`')
  assertConnected(tx, `The \`tx\` of ${of}`)
  return transactionOf({
    async query(text, params) {
      const answer = (await query.call(tx, text, params)) as { rows?: unknown } | null | undefined
      if (Array.isArray(answer?.rows)) return answer as Awaited<ReturnType<SqlExecutor['query']>>
      throw badTransaction(of, `answered ${kindOfValue(answer)} without \`rows\``)
    },
  })
}

const badTransaction = (of: string, what: string) =>
  new RegrowError(
    'bad_options',
    `The \`tx\` of ${of} ${what}; expected a client of pg, a transaction of PGlite, or anything with query(text, params) that answers { rows }`,
    'Wrap another client: { query: async (text, params) => ({ rows: await … }) }. Let this error roll your transaction back.',
  )
