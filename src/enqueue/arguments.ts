// What a caller of enqueue gives besides keys and inputs. Mistakes that the types would catch are errors with a cure here: callers
// in JavaScript, and clients that look like another one, come past the types.
import { RegrowError } from '../base/errors.ts'
import { isOptions, kindOfValue } from '../base/suggest.ts'
import type { TransactionLike } from '../job/declaration.ts'
import type { StoreTransaction } from '../store/transaction.ts'
import { openedHere } from './after-commit.ts'

/** Makes a transaction of the user's own known to the store; `of` names the call that was given it. */
export type AdoptTransaction = (of: string, tx: object) => Promise<StoreTransaction>

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
    throw badOptions(
      `The \`tx\` of ${of} is ${kindOfValue(tx)}; expected an open transaction of the store's database`,
      'Pass what app.transaction or ctx.tx gave you, or the client on which you opened the transaction.',
    )
}

/** The caller's transaction, for the ports of the store: one that regrow opened is known, any other is adopted. */
export async function transactionOf(
  { adopt }: { readonly adopt: AdoptTransaction },
  of: string,
  tx: TransactionLike,
): Promise<StoreTransaction> {
  checkTransaction(of, tx)
  return openedHere(tx) ?? adopt(of, tx)
}

const badOptions = (message: string, hint: string) => new RegrowError('bad_options', message, hint)
