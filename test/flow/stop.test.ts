// Stopping in virtual time: no more pops → grace → abort → give back → leave, in this order; a second call cuts the grace
// short; what is given back counts nothing, whatever the stop meets on its way.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { App, Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { Faults } from '../sim/faults.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World
let faults: Faults

beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null default 'pending')`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
  faults = new Faults()
})
afterAll(() => db.close())

const declare = (app: App, run: (id: string, ctx: Context) => unknown) =>
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    retry: { delay: '1s' },
    sweep: { every: '1h' },
    run,
  })
const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const finish = (ctx: Context, id: string) =>
  ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
const ledger = () => world.query(`select key, state, holder, failures, crashes from regrow.ledger order by key`)
const workers = () => world.query(`select id from regrow.workers`)

/** A worker at work on 'a', whose run ends when it is aborted, and tells when that was. */
async function busy() {
  const { app, ear, queue } = world.app({ store: faults.store(world.store()) })
  const aborted: number[] = []
  const job = declare(app, (_, ctx) => {
    const { signal } = ctx
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        aborted.push(world.clock.now())
        reject(signal.reason)
      })
    })
  })
  const worker = await world.work(app)
  await add('a')
  await job.enqueue('a')
  await world.until(() => ear.of('job.started').length === 1)
  return { worker, aborted, job, ear, queue }
}

test('it pops no more, waits its grace, aborts, gives back, and leaves', async () => {
  const { worker, aborted, job, ear, queue } = await busy()
  const begun = world.clock.now()
  const stopped = worker.stop({ grace: '10s' })
  await world.pass(1_000)
  await add('b')
  await job.enqueue('b')
  await world.pass(8_000)
  // Within the grace it lives and beats: nobody may free what still runs.
  expect([aborted.length, (await workers()).length]).toEqual([0, 1])
  expect(await ledger()).toMatchObject([{ key: 'a', state: 'running' }])
  await world.over(stopped, 5_000)
  expect(aborted).toEqual([begun + 10_000])
  expect(world.clock.now() - begun).toBeLessThan(11_000)
  expect(await workers()).toEqual([])
  expect((await ledger()).filter(({ holder, failures, crashes }) => holder || failures || crashes)).toEqual([])
  expect(ear.of('job.started')).toHaveLength(1)
  // Both wait for whoever comes next.
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 2, delayed: 0 }]]))
})

test('a second call cuts the grace short', async () => {
  const { worker, aborted } = await busy()
  const stopped = worker.stop({ grace: '1h' })
  await world.pass(3_000)
  const now = world.clock.now()
  const again = worker.stop()
  await world.over(Promise.all([stopped, again]), 2_000)
  expect(aborted).toEqual([now])
  expect([await workers(), (await ledger()).filter(({ holder }) => holder)]).toEqual([[], []])
})

test('a key given back is the first attempt of whoever starts it next (M24)', async () => {
  const queue = world.queue()
  const first = world.app({}, queue)
  const job = declare(first.app, () => new Promise(() => {}))
  const worker = await world.work(first.app)
  await add('a', 'b', 'c')
  await job.enqueueMany(['a', 'b', 'c'])
  await world.until(() => first.ear.of('job.started').length === 3)
  await world.over(worker.stop({ grace: 0 }))
  expect(await ledger()).toEqual([])
  const second = world.app({}, queue)
  declare(second.app, (id, ctx) => finish(ctx, id))
  await world.work(second.app)
  await world.until(() => second.ear.of('job.settled', { state: 'done' }).length === 3, 1_000)
  expect(second.ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1, 1])
  expect([first.ear.of('worker.freed'), second.ear.of('worker.freed')]).toEqual([[], []])
})

test.each(['ledger.take', 'source.check'])(
  'a stop while %s is slow starts nothing after it and leaves no claim behind',
  async (call) => {
    const { app, ear, queue } = world.app({ store: faults.store(world.store()) })
    const job = declare(app, (id, ctx) => finish(ctx, id))
    const worker = await world.work(app)
    await add('a')
    faults.meet(call, async (work) => {
      const answer = await work()
      await world.clock.sleep(5_000)
      return answer
    })
    await job.enqueue('a')
    await world.pass(1_000)
    await world.over(worker.stop({ grace: 0 }), 10_000)
    await world.pass(10_000)
    expect(ear.of('job.started')).toEqual([])
    expect([await ledger(), await workers()]).toEqual([[], []])
    expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 1, delayed: 0 }]]))
  },
)

/** A worker in the middle of a sweep whose page takes so long, and then answers or fails. */
async function sweeping(ms: number, fails = false) {
  const lines: string[] = []
  const { app, ear } = world.app({ store: faults.store(world.store()), log: ({ message }) => void lines.push(message) })
  let asked = false
  faults.meet('source.page', async (work) => {
    asked = true
    await world.clock.sleep(ms)
    if (fails) throw new Error('PGlite is closed')
    return work()
  })
  declare(app, () => {})
  const worker = app.work()
  await world.until(() => asked)
  return { app, worker, ear, lines }
}

test('a stop waits for the sweep that is under way, and for the end of its turn', async () => {
  const { app, worker, ear, lines } = await sweeping(3_000)
  await world.over(worker.stop({ grace: '10s' }))
  expect(ear.of('sweep.passed')).toHaveLength(1)
  expect(await world.query(`select holder, last_error from regrow.sweeps`)).toEqual([
    { holder: null, last_error: null },
  ])
  await world.over(app.close())
  expect(lines).toEqual([])
})

test('a sweep that outlasts the grace is left to itself, and how it ends is told nobody', async () => {
  const { app, worker, ear, lines } = await sweeping(20_000, true)
  const begun = world.clock.now()
  await world.over(worker.stop({ grace: '1s' }))
  expect(world.clock.now() - begun).toBeLessThan(3_000)
  await world.over(app.close())
  await world.pass(30_000)
  expect([ear.of('sweep.failed'), ear.of('loop.failed'), lines]).toEqual([[], [], []])
})
