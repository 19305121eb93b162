// The jobs of `npm run chaos`, for the workers and for who feeds them: rows of one table, in batches or one by one. Rows
// with an id below zero are poison: their handler kills its process.
import { type App, sql } from '../../src/index.ts'

/** What a worker process is told. */
export interface WorkerSettings {
  readonly url: string
  readonly leaseMs: number
  /** Where it writes what it does, in a file of its own. */
  readonly folder: string
  readonly concurrency: number
  readonly batch: number
  /** A batch takes so long at most before its transaction, and a single key. */
  readonly batchMs: number
  readonly oneMs: number
}

/** Of 41 rows one fails at first, and one fails twice: those whose id leaves this. */
export const failsOnce = 7
export const failsTwice = 22

/** Every row of the run; `expected` is written in the same transaction and then only read. */
export const tables = `
  create table rows (id bigint primary key, kind text not null, state text not null default 'pending', fails int not null);
  create index on rows (id) where kind = 'many' and state = 'pending';
  create index on rows (id) where kind = 'one' and state = 'pending';
  create table expected (key bigint not null, job text not null, fails int not null);
  create table effects (job text not null, key bigint not null, pid int not null, at timestamptz not null default clock_timestamp());
`

export function chaosJobs(app: App) {
  const options = { key: 'bigint', retry: { delay: '500ms', maxDelay: '2s' }, sweep: { every: '10s' } } as const
  return {
    many: app.job('many', { ...options, pending: sql`select id from rows where kind = 'many' and state = 'pending'` }),
    one: app.job('one', { ...options, pending: sql`select id from rows where kind = 'one' and state = 'pending'` }),
  }
}
