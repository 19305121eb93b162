// The truth about runs: who has which key, and who is alive. A row of the ledger is a claim; no row, no claim. (src/store)
import type { PGlite, Transaction } from '@electric-sql/pglite'

/** A worker that has not beaten for so long is dead. */
export const leaseMs = 300

/** A claim: this worker has this key since this take. Numbers are never used twice. */
export interface Claim {
  readonly holder: string
  readonly key: string
  readonly take: number
}

export async function createTables(db: PGlite): Promise<void> {
  await db.exec(`
    create table ledger (key text primary key, holder text not null, take int not null);
    create table workers (id text primary key, beaten_at timestamptz not null)`)
}

/** True if nobody else has the key, and the worker is alive. */
export async function take(db: PGlite, { holder, key, take }: Claim): Promise<boolean> {
  const { rows } = await db.query(
    `insert into ledger (key, holder, take) select $1, id, $3 from workers where id = $2
     on conflict (key) do nothing returning key`,
    [key, holder, take],
  )
  return rows.length === 1
}

/** The check begins after the take has committed: a run that ended meanwhile has left its effects, and is seen. */
export async function isPending(db: PGlite, pending: string, key: string): Promise<boolean> {
  return (await db.query(`select 1 from (${pending}) as pending where key = $1`, [key])).rows.length === 1
}

/** Ends a claim. False: it was somebody else's by now, and the caller must take back what it did. This is the fence. */
export async function settle(db: PGlite | Transaction, { holder, key, take }: Claim): Promise<boolean> {
  const { rows } = await db.query('delete from ledger where key = $1 and holder = $2 and take = $3 returning key', [
    key,
    holder,
    take,
  ])
  return rows.length === 1
}

export async function beat(db: PGlite, id: string): Promise<void> {
  await db.query(
    `insert into workers values ($1, clock_timestamp())
     on conflict (id) do update set beaten_at = excluded.beaten_at`,
    [id],
  )
}

/** Ends the claims of workers that are dead. Their keys are pending still: the sweep finds them. */
export async function freeDeadWorkers(db: PGlite): Promise<void> {
  await db.query(
    `with dead as (
       delete from workers where beaten_at < clock_timestamp() - make_interval(secs => $1::float8 / 1000) returning id
     )
     delete from ledger using dead where ledger.holder = dead.id`,
    [leaseMs],
  )
}

/** Keys that are pending, and that nobody has. */
export async function missing(db: PGlite, pending: string): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    `select key from (${pending}) as pending where not exists (select 1 from ledger where ledger.key = pending.key)`,
  )
  return rows.map(({ key }) => key)
}
