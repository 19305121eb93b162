// The jobs of `npm run chaos -- kill`, for the workers and for who feeds them: rows of one table, in batches, one by one, or in rounds:
// those are pending again after each success. Rows with an id below zero are poison: their handler kills its process.
import { type App, sql } from '../../../src/index.ts'

/** What a worker process is told. */
export interface WorkerSettings {
  readonly url: string
  readonly leaseMs: number
  /** Where it writes what it does, in a file of its own. */
  readonly folder: string
  readonly concurrency: number
  readonly batch: number
  /** A run takes so long at most before its transaction. */
  readonly takesMs: Readonly<Record<Kind, number>>
}

export type Kind = 'many' | 'one' | 'round'

/** Every twentieth row runs alone, every eight hundredth in rounds. */
export const kindOf = (id: number): Kind => (id % 800 === 11 ? 'round' : id % 20 === 3 ? 'one' : 'many')
export const kindInSql = `case when id % 800 = 11 then 'round' when id % 20 = 3 then 'one' else 'many' end`

/** How often a row in rounds runs. */
export const rounds = 4

/** One row per job whose handler kills its process. */
export const poison: Readonly<Record<Kind, number>> = { many: -1, one: -2, round: -3 }

/** Of 41 rows one fails at first, and one fails twice: those whose id leaves this. */
export const failsOnce = 7
export const failsTwice = 22

/** Every row of the run; `expected` is written in the same transaction and then only read. */
export const tables = `
  create table rows (id bigint primary key, kind text not null, state text not null default 'pending', fails int not null default 0,
    round int not null default 1);
  create index on rows (id) where kind = 'many' and state = 'pending';
  create index on rows (id) where kind = 'one' and state = 'pending';
  create index on rows (id) where kind = 'round' and state = 'pending';
  create table expected (key bigint not null, job text not null, round int not null, fails int not null);
  create table effects (job text not null, key bigint not null, round int not null, pid int not null, at timestamptz not null default clock_timestamp());
`

/** `batch`: of the worker's handler; who only enqueues needs none. */
export function chaosJobs(app: App, batch = 1) {
  const options = { key: 'bigint', retry: { delay: '500ms', maxDelay: '2s' }, sweep: { every: '10s' } } as const
  return {
    many: app.job('many', {
      ...options,
      batch,
      pending: sql`select id from rows where kind = 'many' and state = 'pending'`,
    }),
    // Limits, so that runs of single keys leave slots for the batches, which hold most of the rows.
    one: app.job('one', {
      ...options,
      concurrency: 5,
      pending: sql`select id from rows where kind = 'one' and state = 'pending'`,
    }),
    round: app.job('round', {
      ...options,
      concurrency: 3,
      pending: sql`select id, round as version from rows where kind = 'round' and state = 'pending'`,
    }),
  }
}
