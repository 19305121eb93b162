// The queue of a real Postgres is lost in the ways that it can be, under workers that are idle or busy in every slot. Each
// loss is noticed, declared once, written down, and healed. Times are printed, never asserted: npm test is no stopwatch.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: false } })
})
afterAll(() => server.close())

/** A statement on a connection of its own: those before a crash are dead. */
async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const harms: Record<string, { how: 'missing' | 'behind' | 'foreign'; harm: (url: string) => Promise<unknown> }> = {
  'emptied by a TRUNCATE': { how: 'missing', harm: (url) => query(url, `truncate regrow.hints, regrow.canary`) },
  'dropped, table and all': { how: 'missing', harm: (url) => query(url, `drop table regrow.hints, regrow.canary`) },
  'emptied by a crash of the server': { how: 'missing', harm: () => server.restart('immediate') },
  'put back to an old copy': {
    how: 'behind',
    harm: (url) => query(url, `delete from regrow.hints; update regrow.canary set sequence = 0`),
  },
  'swapped for that of somebody else': {
    how: 'foreign',
    harm: (url) => query(url, `delete from regrow.hints; update regrow.canary set epoch = 99, sequence = 3`),
  },
}

/** Two apps on one database; each run takes until `letGo`. */
async function fleet(url: string, concurrency: number) {
  let letGo = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const apps = [1, 2].map((): { app: App; ear: Ear } => {
    const app = regrow({ store: postgres(url), log: false })
    app.job('thing.make', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '1h' },
      async run(id, ctx) {
        await gate
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ($1)`, [id])
          await tx.query(`update things set state = 'done' where id = $1`, [id])
        })
      },
    })
    return { app, ear: new Ear(app) }
  })
  const workers = apps.map(({ app }) => app.work({ concurrency }))
  await Promise.all(workers.map(({ ready }) => ready))
  return {
    ears: apps.map(({ ear }) => ear),
    letGo: () => letGo(),
    async end() {
      letGo()
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all(apps.map(({ app }) => app.close()))
    },
  }
}

/** Resolves when `done` holds; every event of one of the ears is a reason to look. */
const either = (ears: readonly Ear[], done: () => boolean) => Promise.any(ears.map((ear) => ear.until(done, 40_000)))

/** Idle workers notice a loss by their pops, whichever way it went; busy ones by the bump. */
const cases = Object.entries(harms).flatMap(([name, harm], i) =>
  (i === 0 ? [0, 60] : [60]).map((rows) => ({
    name,
    rows,
    state: rows === 0 ? 'idle' : 'busy in every slot',
    ...harm,
  })),
)

describe.each(cases)('a queue that is $name', ({ name, how, harm, rows, state }) => {
  test(`is noticed by workers that are ${state}, and everything runs once`, async () => {
    const url = await server.createDatabase(`lost_${Object.keys(harms).indexOf(name)}_${rows}`)
    await query(
      url,
      `create table things (id int primary key, state text not null default 'pending'); create table effects (id int)`,
    )
    if (rows > 0) await query(url, `insert into things select n from generate_series(1, ${rows}) n`)
    const { ears, letGo, end } = await fleet(url, 5)
    const told = <Name extends 'queue.lost' | 'queue.healed' | 'job.started'>(event: Name) =>
      ears.flatMap((ear) => ear.of(event))
    try {
      await either(ears, () => told('job.started').length >= Math.min(rows, 10))
      // A mark has to be there, and raised, before it can be lost or old.
      while (Number((await query(url, `select coalesce(max(sequence), 0) as n from regrow.marks`))[0]?.n) < 1)
        await query(url, `select pg_sleep(0.1)`)
      await harm(url)
      const at = performance.now()
      await either(ears, () => told('queue.lost').length > 0)
      console.log(`${name}, workers ${state}: noticed after ${Math.round(performance.now() - at)} ms`)
      expect(told('queue.lost')).toMatchObject([{ how, queue: 'postgres' }])
      await either(ears, () => told('queue.healed').length > 0)
      letGo()
      if (rows > 0)
        while (Number((await query(url, `select count(*) as n from things where state = 'pending'`))[0]?.n) > 0)
          await query(url, `select pg_sleep(0.1)`)
      expect(await query(url, `select count(*)::int as n, count(distinct id)::int as keys from effects`)).toEqual([
        { n: rows, keys: rows },
      ])
      expect(
        await query(url, `select how, pushed::int, jobs_left, ended_at is not null as ended from regrow.heals`),
      ).toEqual([{ how, pushed: Math.max(0, rows - 10), jobs_left: 0, ended: true }])
      expect(
        await query(url, `select count(*)::int as n from regrow.canary c join regrow.marks m using (epoch)`),
      ).toEqual([{ n: 1 }])
    } finally {
      await end()
    }
  }, 90_000)
})
