// What `npm run chaos -- wipe` works on: rows of one table, each with one effect that its handler has through ctx.tx.

/** What a worker process is told. */
export interface WipeWorkerSettings {
  /** A build of the sources. */
  readonly build: string
  /** A Postgres, with its queue; or the directory of a PGlite, with a queue in memory. */
  readonly store: { readonly url: string } | { readonly directory: string }
  readonly leaseMs: number
  /** Where it writes what it does, in a file of its own. */
  readonly folder: string
  readonly concurrency: number
  /** Keys per call of the handler at most. */
  readonly batch: number
  /** A call takes so long before its transaction, on average. */
  readonly takesMs: number
}

export const wipeTables = `
  create table rows (id bigint primary key, state text not null);
  create index on rows (id) where state = 'pending';
  create table effects (id bigint not null, pid int not null);
`

/** $1 how many. */
export const fillRows = `insert into rows select n, 'pending' from generate_series(1, $1::int) n`

export const pendingRows = `select count(*)::int as n from rows where state = 'pending'`

/** The total: rows with one effect, with none (lost), with two (doubled), and what is left of regrow's own. */
export const verdictOf = `
  select count(*)::int as rows, count(*) filter (where e.n = 1)::int as done,
    count(*) filter (where e.n is null)::int as lost, count(*) filter (where e.n > 1)::int as doubled,
    (select count(*) from regrow.ledger where state = 'quarantined')::int as quarantined,
    (select count(*) from regrow.ledger where holder is not null)::int as "claimsLeft"
  from rows r left join (select id, count(*) as n from effects group by id) e on e.id = r.id`

export interface WipeVerdict {
  readonly rows: number
  readonly done: number
  readonly lost: number
  readonly doubled: number
  readonly quarantined: number
  readonly claimsLeft: number
}
