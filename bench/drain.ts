// How fast one process drains a backlog on Postgres with the default guard: intents with an empty handler, rows that
// a batch marks done in one statement, and rows that each handler marks done by a statement, or a function, of ctx.tx.
import pg from 'pg'
import { regrow, sql } from 'regrow'
import { postgres } from 'regrow/postgres'
import { z } from 'zod'

export interface DrainResult {
  readonly id: string
  readonly jobs: number
  readonly seconds: number
  readonly perSecond: number
  /** Statements that the server counted, per job, over the whole drain. */
  readonly statementsPerJob: number
}

/** What is drained, and how rows are marked. */
export const kinds = ['intents', 'rows.many', 'rows.statement', 'rows.function'] as const

type Kind = (typeof kinds)[number]

/** Drains `count` jobs of that kind in a database of its own that is empty at the start. */
export async function drain(url: string, kind: Kind, count: number, concurrency: number): Promise<DrainResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    create table if not exists rows (id bigint primary key, state text not null);
    create index if not exists rows_pending on rows (id) where state = 'pending';
    truncate rows;
  `)
  await fill(url, client, kind, count)
  const { app, email, row } = declare(url)
  const done = `update rows set state = 'done' where id = $1`
  const handler = {
    intents: () => email.handle(() => {}),
    'rows.many': () =>
      row.batches().handle((ids, ctx) => ctx.tx(sql`update rows set state = 'done' where id = any(${sql.array(ids)})`)),
    'rows.statement': () =>
      row.single().handle((id, ctx) => ctx.tx(sql`update rows set state = 'done' where id = ${id}`)),
    'rows.function': () => row.single().handle((id, ctx) => ctx.tx((tx) => tx.query(done, [id]))),
  }[kind]()
  let left = count
  const drained = new Promise<void>((resolve) => {
    app.on('job.settled', ({ state }) => {
      if (state === 'done' && --left === 0) resolve()
    })
  })
  const before = await transactions(client)
  const start = performance.now()
  const worker = app.work({ handlers: [handler], concurrency })
  await worker.ready
  await drained
  const seconds = (performance.now() - start) / 1000
  await worker.stop()
  await app.close()
  const after = await transactions(client)
  await client.end()
  return { id: kind, jobs: count, seconds, perSecond: count / seconds, statementsPerJob: (after - before) / count }
}

function declare(url: string) {
  const app = regrow({ store: postgres(url), migrate: true })
  const email = app.job('bench.intent', { input: z.object({ n: z.number() }) })
  const pending = sql`select id from rows where state = 'pending'`
  const row = {
    single: () => app.job('bench.row', { key: 'bigint', pending }),
    batches: () => app.job('bench.row', { key: 'bigint', pending, batch: 100 }),
  }
  return { app, email, row }
}

/** An app of its own fills the queue, so that its statements are not counted with those of the drain. */
async function fill(url: string, client: pg.Client, kind: Kind, count: number): Promise<void> {
  const { app, email, row } = declare(url)
  if (kind === 'intents') await email.enqueueMany(Array.from({ length: count }, (_, n) => ({ n })))
  else {
    await client.query(`insert into rows select n, 'pending' from generate_series(1, $1::int) n`, [count])
    await client.query('analyze rows')
    await row.single().enqueueMany(Array.from({ length: count }, (_, n) => BigInt(n + 1)))
  }
  await app.close()
}

/** Transactions of this database so far. A connection tells its last ones when it ends, so the others must be gone. */
async function transactions(client: pg.Client): Promise<number> {
  const others = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  while ((await client.query(`${others} and backend_type = 'client backend'`)).rows.length > 0)
    await client.query('select pg_sleep(0.05)')
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query(
    `select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`,
  )
  return Number(rows[0].n)
}
