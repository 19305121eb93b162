// Postgres is stopped in the middle of work as by a crash (-m immediate) and started again: its queue is empty then, and takes
// of the last moments are gone, since they are committed without waiting for the disk.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'
import { fleetTables, WorkerProcess } from '../processes/fleet.ts'

let server: PostgresServer
beforeAll(async () => {
  // Nothing but a commit that waits for the disk, or ten seconds, brings a take there.
  server = await startPostgres({ settings: { fsync: false, wal_writer_delay: '10s', wal_writer_flush_after: '64MB' } })
})
afterAll(() => server.close())

/** A statement on a connection of its own: those before the crash are dead. */
async function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

test('two workers go on by themselves after two crashes of Postgres: 2,000 rows are done, each effect once', async () => {
  const url = await server.createDatabase('load')
  await query(url, fleetTables)
  await query(url, `insert into rows select n, 'pending' from generate_series(1, 2000) n`)
  const workers = [1, 2].map(() => new WorkerProcess({ url, mode: 'one', pool: 4, lease: '5s' }))
  const pending = async () => Number((await query(url, `select count(*) as n from rows where state = 'pending'`))[0]?.n)
  try {
    for (const left of [1_500, 800]) {
      while ((await pending()) > left) await query(url, `select pg_sleep(0.1)`)
      await server.restart('immediate')
      expect(await pending()).toBeGreaterThan(0)
    }
    while ((await pending()) > 0) await query(url, `select pg_sleep(0.1)`)
    const [effects] = await query(url, `select count(*)::int as all, count(distinct id)::int as keys from effects`)
    expect(effects).toEqual({ all: 2_000, keys: 2_000 })
    for (const { child } of workers) expect(child.exitCode).toBeNull()
    expect(await query(url, `select * from regrow.ledger where failures > 0`)).toEqual([])
  } finally {
    for (const worker of workers) worker.kill()
  }
}, 120_000)

test('a run whose take was lost in the crash records nothing: its key has another take number now (M34)', async () => {
  const url = await server.createDatabase('takes')
  await query(
    url,
    `create table things (id int primary key, state text not null); create table effects (id int, run int)`,
  )
  const app = regrow({ store: postgres(url), lease: '10s', log: false })
  const ear = new Ear(app)
  const runs: { letGo: () => void; ended: Promise<unknown> }[] = []
  const job = app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    async run(id, ctx) {
      const run = runs.length + 1
      let letGo = () => {}
      const held = new Promise<void>((resolve) => {
        letGo = resolve
      })
      const ended = held.then(() =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1, $2)`, [id, run])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        }),
      )
      runs.push({
        letGo,
        ended: ended.then(
          () => 'committed',
          (error) => error.code,
        ),
      })
      await ended
    },
  })
  const worker = app.work()
  await ear.hears('sweep.passed')
  const started = (key: string, times: number) => ear.until(() => ear.of('job.started', { key }).length === times)
  let lost = 0
  for (let id = 1; lost === 0; id++) {
    await query(url, `truncate effects`)
    await query(url, `insert into things values ($1, 'pending')`, [id])
    runs.length = 0
    await job.enqueue(id)
    await started(String(id), 1)
    await server.restart('immediate')
    lost = 1 - (await query(url, `select 1 from regrow.ledger`)).length
    if (lost === 1) {
      // The same worker, the same holder: only the take number tells its two runs apart.
      await job.enqueue(id)
      await started(String(id), 2)
      runs[0]?.letGo()
      expect(await runs[0]?.ended).toBe('lease_lost')
      expect(await query(url, `select * from effects`)).toEqual([])
    }
    runs.at(-1)?.letGo()
    expect(await runs.at(-1)?.ended).toBe('committed')
    expect(await query(url, `select id, run from effects`)).toEqual([{ id, run: runs.length }])
  }
  expect(ear.of('worker.gone')).toEqual([])
  await worker.stop()
  await app.close()
}, 120_000)
