// Events are cheap when nobody listens: what happens once per key is not even put together then.
import { channel } from 'node:diagnostics_channel'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { Events } from '../../src/base/events.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { openPglite, reset } from './world.ts'

const perKey = ['hint.refused', 'job.settled', 'job.started']
let db: PGlite

beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null default 'pending')`)
})
beforeEach(() => reset(db, 'things'))
afterEach(() => vi.restoreAllMocks())
afterAll(() => db.close())

/** Names of the events that a worker emits while it runs two keys and refuses a third. */
async function emitted(listen: (app: App) => void): Promise<string[]> {
  await db.exec(`insert into things (id) values ('a'), ('b')`)
  const emit = vi.spyOn(Events.prototype, 'emit')
  const app = regrow({ store: pglite(db) })
  let left = 2
  let ran = () => {}
  const allRan = new Promise<void>((resolve) => {
    ran = resolve
  })
  const things = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    async run(id, ctx) {
      await ctx.tx((tx) => tx.query(`update things set state = 'ready' where id = $1`, [id]))
      if (--left === 0) ran()
    },
  })
  listen(app)
  await things.enqueueMany(['a', 'b', 'not there'])
  const worker = app.work()
  await allRan
  await worker.stop()
  await app.close()
  return [...new Set(emit.mock.calls.map(([name]) => name as string))].filter((name) => perKey.includes(name)).sort()
}

test('nothing is put together per key when nobody listens', async () => {
  expect(await emitted(() => {})).toEqual([])
})

test('who listens to one of them pays for that one alone', async () => {
  expect(await emitted((app) => app.on('job.settled', () => {}))).toEqual(['job.settled'])
})

test('a subscriber of the channel is told of all of them', async () => {
  const heard = new Set<string>()
  const listen = (message: unknown) => heard.add((message as { name: string }).name)
  channel('regrow').subscribe(listen)
  try {
    expect(await emitted(() => {})).toEqual(perKey)
  } finally {
    channel('regrow').unsubscribe(listen)
  }
  expect([...heard]).toEqual(expect.arrayContaining(perKey))
})
