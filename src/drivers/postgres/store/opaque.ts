// What core passes on without looking into it: receipts of hints, pages of rows, and open transactions.
import type { SqlQuery } from '../../../job/pending.ts'
import type { Receipt } from '../../../job/receipt.ts'
import type { ServerPage } from '../../../job/server-page.ts'
import type { StoreTransaction } from '../../../store/transaction.ts'
import type { SqlExecutor } from '../../sql/client.ts'

/** The hint that a receipt is for. */
export interface HintIdentity {
  readonly job: string
  readonly key: string
}

export const receiptOf = (hint: HintIdentity): Receipt => hint as unknown as Receipt
export const hintOf = (receipt: Receipt): HintIdentity => receipt as unknown as HintIdentity

/**
 * A query of (place, key, version, since, at, renewed, wait_ms, eligible), one row per row of the page, in order. `eligible` is
 * null where the text cannot be a key. store/source makes it, queue/fill reads it.
 */
export const serverPageOf = (query: SqlQuery): ServerPage => query as unknown as ServerPage
export const queryOf = (page: ServerPage): SqlQuery => page as unknown as SqlQuery

export const transactionOf = (executor: SqlExecutor): StoreTransaction => executor as unknown as StoreTransaction
export const executorOf = (tx: StoreTransaction): SqlExecutor => tx as unknown as SqlExecutor
