// What a caller of enqueue gives besides keys and inputs. Mistakes that the types would catch are errors with a cure here: callers
// in JavaScript, and clients that look like another one, come past the types.
import { RegrowError } from '../base/errors.ts'
import { isOptions, kindOfValue } from '../base/suggest.ts'
import type { TransactionLike } from '../job/declaration.ts'
import type { SqlExecutor } from '../store/sql-client.ts'
import { isOpenedHere } from './after-commit.ts'

/** Throws what is wrong with the items or the options of an enqueue; nothing was stored or hinted then. */
export function checkArguments(job: string, items: unknown, options: { readonly tx?: unknown }): void {
  if (
    typeof items === 'string' ||
    typeof (items as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== 'function'
  )
    throw badOptions(
      `enqueueMany of "${job}" was given ${kindOfValue(items)}; expected an array, or another iterable`,
      'Nothing was enqueued. For one of them there is enqueue.',
    )
  if (!isOptions(options))
    throw badOptions(
      `The options of enqueue of "${job}" are ${kindOfValue(options)}; expected an object such as { jitter: '10m' }`,
      'Nothing was enqueued.',
    )
  if (options.tx !== undefined) checkTransaction(`enqueue of "${job}"`, options.tx)
}

function checkTransaction(of: string, tx: unknown): void {
  if (typeof tx !== 'function' && (typeof tx !== 'object' || tx === null))
    throw badTransaction(of, `is ${kindOfValue(tx)}`)
}

/**
 * The caller's transaction, as the store uses it: its answers are checked, since wrappers of clients are written by hand. `of`: the call
 * that it was given to.
 */
export function executorOf(of: string, tx: TransactionLike): SqlExecutor {
  checkTransaction(of, tx)
  if (isOpenedHere(tx)) return tx as SqlExecutor
  if (typeof tx.query !== 'function') throw badTransaction(of, 'has no function `query`')
  return {
    async query(text, params) {
      const answer = (await tx.query(text, params as never)) as { rows?: unknown } | null | undefined
      if (Array.isArray(answer?.rows)) return answer as Awaited<ReturnType<SqlExecutor['query']>>
      throw badTransaction(of, `answered ${kindOfValue(answer)} without \`rows\``)
    },
  }
}

const badTransaction = (of: string, what: string) =>
  badOptions(
    `The \`tx\` of ${of} ${what}; expected a client of pg, a transaction of PGlite, or anything with query(text, params) that answers { rows }`,
    'Wrap another client: { query: async (text, params) => ({ rows: await … }) }. Let this error roll your transaction back.',
  )

const badOptions = (message: string, hint: string) => new RegrowError('bad_options', message, hint)
