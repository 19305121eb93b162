// A PGlite that its owner closes before the app: every call says so, with the cure, a worker says it in one line, and neither its stop nor
// the app's close waits for a store that will never answer.
import { PGlite } from '@electric-sql/pglite'
import { afterEach, expect, test } from 'vitest'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, type LogRecord, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openPglite } from './world.ts'

const opened: PGlite[] = []
afterEach(async () => {
  for (const db of opened.splice(0)) if (!db.closed) await db.close()
})

/** A worker with one handler at work, which goes on when it is told to. */
async function busy() {
  const db = await openPglite(`create table things (id int primary key, done boolean not null default false);
    insert into things select generate_series(1, 3)`)
  opened.push(db)
  const lines: LogRecord[] = []
  const app = regrow({ store: pglite(db), log: (record) => lines.push(record) })
  let goOn = () => {}
  const told = new Promise<void>((resolve) => (goOn = resolve))
  app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where not done`,
    concurrency: 1,
    run: async (id, ctx) => {
      await told
      await ctx.tx(sql`update things set done = true where id = ${id}`)
    },
  })
  const ear = new Ear(app as unknown as App)
  const worker = app.work()
  await worker.ready
  await ear.hears('job.started')
  return { db, app, worker, ear, lines, goOn }
}

const refused = {
  code: 'not_connected',
  message: expect.stringContaining('The PGlite that pglite() was given is closed'),
  hint: expect.stringContaining('`await app.close()` before `await db.close()`'),
}

test('every call of the app says that it is closed, and what to do', async () => {
  const { db, app, worker, goOn } = await busy()
  await db.close()
  await expect(operate(app as unknown as App).status()).rejects.toMatchObject(refused)
  await expect(app.transaction(async (tx) => tx.query('select 1'))).rejects.toMatchObject(refused)
  await expect(operate(app as unknown as App).quarantine.list()).rejects.toMatchObject(refused)
  goOn()
  await expect(worker.stop({ grace: 0 })).rejects.toMatchObject(refused)
  await app.close()
})

test('a worker stops without its grace: nothing can be recorded any more', async () => {
  const { db, app, worker, ear, goOn } = await busy()
  await db.close()
  goOn()
  await ear.hears('loop.failed', { loop: 'settle' })
  // Longer than this test may take.
  await expect(worker.stop({ grace: '10m' })).rejects.toMatchObject(refused)
  await app.close()
})

test('who closes both at once gets no rejection', async () => {
  const { db, app, goOn } = await busy()
  const closing = [db.close(), app.close()]
  goOn()
  await Promise.all(closing)
})

test('a worker says it in one line', async () => {
  const { db, app, ear, lines, goOn } = await busy()
  await db.close()
  goOn()
  await ear.until(() => new Set(ear.of('loop.failed').map(({ loop }) => loop)).size >= 3)
  await app.close()
  const [first, ...others] = lines.filter(({ event }) => event === 'loop.failed')
  expect(first?.message).toMatch(
    /lost its store for good, and can only be closed: The PGlite .* is closed\. Call `await app/,
  )
  // Said again at the end, with how often it was.
  expect(others.map(({ message }) => message)).toEqual([
    expect.stringMatching(/\(and \d+ more like it in the last \d+s\)$/),
  ])
})

test('an app whose PGlite was closed before its first use says so', async () => {
  const db = new PGlite()
  await db.waitReady
  await db.close()
  const app = regrow({ store: pglite(db), log: false })
  app.job('thing.make', { pending: sql`select id from things`, run() {} })
  await expect(operate(app as unknown as App).status()).rejects.toMatchObject(refused)
  await expect(app.work().ready).rejects.toMatchObject(refused)
  await app.close()
})
