// Code and schema of different versions: one version back, one ahead, and a migration under running workers. Everything that
// a worker does is done on each; two versions back are refused with the command that helps.

import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { newestSchema, oldestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { type App, RegrowError, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { migrateTo } from '../services/schemas.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function databaseAt(version: number): Promise<FreshDatabase> {
  const database = await freshDatabase(`schema_${version}`)
  opened.push(() => database.drop())
  await migrateTo(database.url, version)
  return database
}

async function query(url: string, text: string, params: (string | number)[] = []) {
  const app = regrow({ store: postgres(url), migrate: false })
  try {
    return (await app.transaction((tx) => tx.query(text, params))).rows
  } finally {
    await app.close()
  }
}

/** A process on that database, as it starts in production: it finds the schema, and does not touch it. */
function start(url: string, pool = 4) {
  const app = regrow({ store: postgres(url, { max: pool }), lease: '1s', migrate: false })
  const ear = new Ear(app)
  opened.push(() => app.close())
  return { app, ear, row: declare(app) }
}

/** Rows whose id begins with `fail` fail once, with `bad` always; each has its effect through ctx.tx. */
function declare(app: App) {
  return app.job('row', {
    pending: sql`select id from rows where state = 'open'`,
    retry: { attempts: 2, delay: '50ms' },
    sweep: { every: '1s' },
    async run(id, ctx) {
      if (id.startsWith('bad') || (id.startsWith('fail') && ctx.attempt === 1)) throw new Error('no')
      if (id.startsWith('hold')) await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update rows set state = 'done' where id = $1`, [id])
      })
    },
  })
}

const tables = async (url: string) => {
  await query(url, `create table rows (id text primary key, state text not null default 'open')`)
  await query(url, `create table effects (id text not null)`)
}

const insert = (url: string, ...ids: string[]) =>
  query(url, `insert into rows (id) select jsonb_array_elements_text($1::text::jsonb)`, [JSON.stringify(ids)])

/** Takes a key as a process that dies at once would. */
async function crash(url: string, key: string): Promise<void> {
  const { store } = await postgres(url).open({ clock: systemClock, leaseMs: 1_000 })
  await store.prepare({ migrate: false })
  await store.workers.register({ holder: `dead-${key}`, host: 'host', pid: 1, jobs: { row: 'x' } }, 1_000)
  const [answer] = await store.ledger.take(`dead-${key}`, [{ job: 'row', key, take: 1 }])
  expect(answer?.verdict).toBe('taken')
  await store.close()
}

/** Enqueue, sweep, fail and retry, quarantine, crash and free, stop: all of it with a worker that is at work. */
async function everything({ app, ear, row }: ReturnType<typeof start>, url: string, mark: string): Promise<void> {
  const names = ['enqueued', 'swept', 'fail', 'bad', 'crashed'].map((name) => `${name}-${mark}`)
  const [enqueued, swept, fail, bad, crashed] = names as [string, string, string, string, string]
  await query(url, `insert into rows (id, state) values ($1, 'later')`, [crashed])
  await crash(url, crashed)
  await query(url, `update rows set state = 'open' where id = $1`, [crashed])
  await insert(url, enqueued, swept, fail, bad)
  for (const id of [enqueued, fail, bad]) await row.enqueue(id)
  for (const id of [enqueued, swept, fail, crashed]) await ear.hears('job.settled', { key: id, state: 'done' })
  await ear.hears('job.settled', { key: bad, state: 'quarantined' })
  await ear.hears('worker.freed')
  expect(ear.of('job.settled', { key: fail, state: 'retrying' })).toHaveLength(1)
  expect(ear.of('job.started', { key: crashed })).toEqual([{ job: 'row', key: crashed, attempt: 2 }])
  expect((await operate(app).quarantine.list()).keys.map(({ key }) => key)).toContain(bad)
  expect(ear.of('loop.failed')).toEqual([])
}

/** Stops the only worker while a handler runs: the key is given back, nothing is counted, no claim is left. */
async function stops({ ear, row }: ReturnType<typeof start>, url: string, worker: ReturnType<App['work']>) {
  await insert(url, 'hold')
  await row.enqueue('hold')
  await ear.hears('job.started', { key: 'hold' })
  await worker.stop({ grace: '1ms' })
  const counted = `holder is not null or (key = 'hold' and failures + crashes > 0)`
  expect(await query(url, `select key from regrow.ledger where ${counted}`)).toEqual([])
  expect(await query(url, `select id from regrow.workers`)).toEqual([])
}

const schema = async (url: string) =>
  Number((await query(url, `select value from regrow.meta where name = 'schema'`))[0]?.value)

const doubled = (url: string) => query(url, `select id from effects group by id having count(*) > 1`)

for (const [name, version] of Object.entries({
  'one version back': oldestSchema,
  'one version ahead': newestSchema + 1,
}))
  test(`a worker does all of its work on a schema ${name}, and leaves the schema as it is`, async () => {
    const { url } = await databaseAt(version)
    await tables(url)
    const process = start(url)
    const worker = process.app.work()
    await worker.ready
    await everything(process, url, 'a')
    expect((await operate(process.app).status()).jobs.map(({ job }) => job)).toEqual(['row'])
    await stops(process, url, worker)
    expect(await doubled(url)).toEqual([])
    expect(await schema(url)).toBe(version)
  })

test('migrate leaves a schema one version ahead alone', async () => {
  const { url } = await databaseAt(newestSchema + 1)
  const { app } = start(url)
  const columns = `select table_name, column_name from information_schema.columns where table_schema = 'regrow' order by 1, 2`
  const before = await query(url, columns)
  expect(await operate(app).migrate()).toEqual({ from: newestSchema + 1, to: newestSchema + 1 })
  expect(await query(url, columns)).toEqual(before)
})

test('the schema is migrated under workers that go on, and new ones work beside them', async () => {
  const { url } = await databaseAt(oldestSchema)
  await tables(url)
  const old = start(url)
  const oldWorker = old.app.work()
  await oldWorker.ready
  await everything(old, url, 'before')

  const ids = Array.from({ length: 400 }, (_, n) => `n${n}`)
  await insert(url, ...ids)
  const feeding = old.row.enqueueMany(ids)
  await old.ear.until(() => old.ear.of('job.settled', { state: 'done' }).length > 50)
  const deploying = start(url)
  expect(await operate(deploying.app).migrate()).toEqual({ from: oldestSchema, to: newestSchema })
  const newWorker = deploying.app.work()
  await newWorker.ready
  await feeding
  const done = () =>
    [old, deploying]
      .flatMap(({ ear }) => ear.of('job.settled', { state: 'done' }))
      .filter(({ key }) => /^n\d/.test(key))
  while (done().length < ids.length)
    await Promise.race([old, deploying].map(({ ear }) => ear.until(() => done().length >= ids.length, 30_000)))
  expect(await doubled(url)).toEqual([])

  // The one that started before the migration still does everything, also when it is alone.
  await newWorker.stop()
  await everything(old, url, 'after')
  await stops(old, url, oldWorker)
  expect(old.ear.of('loop.failed')).toEqual([])
  expect(deploying.ear.of('loop.failed')).toEqual([])
  expect(await schema(url)).toBe(newestSchema)
})

test('a migration gives way to a transaction that holds a table, and is done when that ends', async () => {
  const { url } = await databaseAt(oldestSchema)
  const { app } = start(url)
  const beside = start(url)
  let migrating: Promise<unknown> | undefined
  await beside.app.transaction(async (tx) => {
    // A table that the newest migration alters.
    await tx.query('lock table regrow.sweeps in access share mode')
    migrating = operate(app).migrate()
    // The first try waits for the table, and everybody behind it; it is over after three seconds.
    const waiting = `select 1 from pg_locks where not granted and relation = 'regrow.sweeps'::regclass`
    while ((await tx.query(waiting)).rows.length === 0);
    while ((await tx.query(waiting)).rows.length > 0);
  })
  expect(await migrating).toEqual({ from: oldestSchema, to: newestSchema })
})

test('a schema two versions back is refused with the command that helps, and nothing is started', async () => {
  const { url } = await databaseAt(oldestSchema - 1)
  const { app } = start(url)
  const worker = app.work()
  const error = await worker.ready.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(RegrowError)
  expect(error).toMatchObject({ code: 'not_migrated', hint: expect.stringContaining('regrow migrate') })
  expect(String(error)).toContain(`version ${oldestSchema - 1}`)
  await worker.stop()
})
