// Declare: a name, the query that says what work there is, and what to do. (src/job)
import type { PGlite, Transaction } from '@electric-sql/pglite'
import type { Queue } from './queue.ts'

/** Runs effects of a key in the transaction that also records its outcome. */
export type Tx = (effects: (db: Transaction) => Promise<void>) => Promise<void>

export interface Job {
  readonly name: string
  /** Returns the key of each row that is waiting. This is the truth; the queue is only a view of it. */
  readonly pending: string
  readonly run: (key: string, tx: Tx) => Promise<void>
}

/** What both arrows need. */
export interface App {
  readonly db: PGlite
  readonly queue: Queue
  readonly job: Job
}

export function declare(job: Job): Job {
  return job
}
