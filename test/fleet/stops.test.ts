// Workers under load are ended by SIGTERM, one after the other: no claim is left behind, nothing is counted, all is done once.
// 20 of them; REGROW_STOPS=200 npm test -- stops does 200.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { buildSources } from '../processes/build.ts'
import { fleetTables } from '../processes/fleet.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const stops = Number(process.env.REGROW_STOPS ?? 20)
const lanes = 4
/** Enough that nobody runs out of work: a process does a few dozen in its life. */
const rows = stops * 60
const script = fileURLToPath(new URL('../processes/stop-worker.mjs', import.meta.url))
const seed = Date.now()
const random = new Seeded(seed)

let sources: ReturnType<typeof buildSources>
let database: FreshDatabase
let pool: pg.Pool
const children = new Set<ChildProcess>()
beforeAll(async () => {
  sources = buildSources('stops')
  database = await freshDatabase('stops')
  pool = new pg.Pool({ connectionString: database.url, max: lanes })
  // A database that is dropped ends what is still open.
  pool.on('error', () => {})
  await pool.query(fleetTables)
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  sources?.remove()
  await pool?.end()
  await database?.drop()
})

interface Told {
  readonly busy?: true
  readonly held?: string
  readonly wrong?: string
}

/** One life: it starts, is at work, is told to stop, ends. Answers what it still held then, and what went wrong. */
async function live(): Promise<{ left: number; wrong: string[]; held: number }> {
  const child = fork(script, [JSON.stringify({ build: sources.build, url: database.url })], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  children.add(child)
  const told: Told[] = []
  const busy = new Promise<void>((resolve) => {
    child.on('message', (message: Told) => {
      told.push(message)
      if (message.busy) resolve()
    })
  })
  const ended = once(child, 'exit')
  await Promise.race([busy, ended])
  const { rows } = await pool.query(`select id from regrow.workers where pid = $1`, [child.pid])
  // At any moment of a batch: between pop, take, check, run and settle.
  await pool.query(`select pg_sleep($1::float8)`, [random.below(60) / 1000])
  child.kill('SIGTERM')
  const [code, signal] = await ended
  children.delete(child)
  const traces = `select (select count(*) from regrow.ledger where holder = $1) + (select count(*) from regrow.workers where id = $1)`
  const left = await pool.query(`${traces} as n`, [rows[0]?.id])
  const wrong = told.flatMap(({ wrong }) => wrong ?? [])
  if (code !== 0 || rows.length !== 1) wrong.push(`it ended with ${code ?? signal}, and had ${rows.length} rows`)
  return { left: Number(left.rows[0].n), wrong, held: told.filter(({ held }) => held).length }
}

test(`${stops} workers under load that get a SIGTERM leave no claim behind, and nothing is counted (M24)`, async () => {
  console.log(`stops: seed ${seed}`)
  const app = regrow({ store: postgres(database.url) })
  const job = app.job('row.mark', {
    key: 'bigint',
    pending: sql`select id from rows where state = 'pending'`,
    sweep: { every: '2s' },
    run: (id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update rows set state = 'done' where id = $1`, [id])
      }),
  })
  await operate(app).migrate()
  await pool.query(`insert into rows select n, 'pending' from generate_series(1, $1::int) n`, [rows])
  await job.enqueueMany(Array.from({ length: rows }, (_, i) => BigInt(i + 1)))
  const begun = performance.now()
  const lives: Awaited<ReturnType<typeof live>>[] = []
  let next = 0
  const lane = async () => {
    while (next++ < stops) lives.push(await live())
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const seconds = (performance.now() - begun) / 1000
  const held = lives.reduce((sum, life) => sum + life.held, 0)
  const done = await pool.query(`select count(*)::int as n from effects`)
  console.log(
    `${stops} stops in ${seconds.toFixed(1)} s: ${done.rows[0].n} rows done, ${held} runs outlasted the grace`,
  )
  expect(lives.flatMap(({ wrong }) => wrong)).toEqual([])
  expect(lives.filter(({ left }) => left > 0)).toEqual([])
  expect(held).toBeGreaterThan(0)
  const counted = await pool.query(
    `select * from regrow.ledger where failures > 0 or crashes > 0 or holder is not null`,
  )
  expect(counted.rows).toEqual([])
  expect(done.rows[0].n, 'there was work to the end').toBeLessThan(rows)
  const worker = app.work({ concurrency: 50 })
  while ((await pool.query(`select 1 from rows where state = 'pending' limit 1`)).rows.length > 0)
    await pool.query(`select pg_sleep(0.1)`)
  await worker.stop()
  await app.close()
  const effects = await pool.query(`select count(*)::int as all, count(distinct id)::int as keys from effects`)
  expect(effects.rows[0]).toEqual({ all: rows, keys: rows })
}, 600_000)
