// A fleet on a server that has far too few connections for it: it does its work slowly, and no handler starts without a connection.
import pg from 'pg'
import { expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { startPostgres } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'

const workers = 20
const rows = 300

test('twenty workers on a server with forty connections do all rows, and start hardly one of them twice', async () => {
  const server = await startPostgres({ settings: { max_connections: 40 } })
  try {
    const url = await server.createDatabase('few')
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    await admin.query(`create table things (id int primary key, state text not null default 'pending')`)
    await admin.query(`create table effects (id int)`)
    const fleet = Array.from({ length: workers }, () => {
      const app = regrow({ store: postgres(url), log: false })
      const ear = new Ear(app)
      app.job('thing.make', {
        key: 'int',
        pending: sql`select id from things where state = 'pending'`,
        sweep: { every: '2s' },
        run: (id, ctx) =>
          ctx.tx(async (tx) => {
            await tx.query(`insert into effects values ($1)`, [id])
            await tx.query(`update things set state = 'done' where id = $1`, [id])
          }),
      })
      return { app, ear, worker: app.work({ concurrency: 10 }) }
    })
    // A worker that finds no connection waits for one.
    await Promise.race(fleet.map(({ worker }) => worker.ready))
    await admin.query(`insert into things (id) select generate_series(1, ${rows})`)
    const since = performance.now()
    const left = async () =>
      Number((await admin.query(`select count(*) as n from things where state = 'pending'`)).rows[0].n)
    await expect.poll(left, { timeout: 100_000, interval: 250 }).toBe(0)
    const starts = fleet.flatMap(({ ear }) => ear.of('job.started')).length
    console.log(`${starts} starts for ${rows} rows, ${((performance.now() - since) / 1000).toFixed(1)} s`)
    const { rows: effects } = await admin.query(
      `select count(*)::int as n, count(distinct id)::int as ids from effects`,
    )
    expect(effects).toEqual([{ n: rows, ids: rows }])
    expect(starts).toBeLessThan(rows * 1.1)
    expect(fleet.flatMap(({ ear }) => ear.of('job.settled')).filter(({ error }) => error !== null)).toEqual([])
    expect((await admin.query(`select * from regrow.ledger where failures > 0`)).rows).toEqual([])
    for (const { worker } of fleet) worker.ready.catch(() => {})
    await Promise.all(fleet.map(({ worker }) => worker.stop({ grace: '1s' })))
    await Promise.all(fleet.map(({ app }) => app.close()))
    await admin.end()
  } finally {
    await server.close()
  }
}, 150_000)
