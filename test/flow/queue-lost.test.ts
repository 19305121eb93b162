// A queue that was lost, rolled back or swapped is noticed within a canary interval, declared by one process, and grows back.
import { describe, expect, test } from 'vitest'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import type { Hint } from '../../src/queue/hint.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import { allowedBy } from '../../src/sweep/ramp.ts'
import { type Ear, openWorld } from './world.ts'

const world = openWorld(`create table things (id text collate "C" primary key, state text not null default 'pending')`)

/** One canary interval, and half a second to be sure and to act. */
const noticedMs = 1_500
const pending = sql`select id from things where state = 'pending'`
const fill = (count: number) =>
  world.query(`insert into things (id) select 'k' || lpad(n::text, 7, '0') from generate_series(1, $1::int) n`, [count])
const marks = async () =>
  (await world.query<{ epoch: number; sequence: number }>(`select epoch::int, sequence::int from regrow.marks`))[0]
const heals = () =>
  world.query(
    `select epoch::int, how, pushed::int, jobs_left, ended_at is not null as ended from regrow.heals order by id`,
  )
const lost = (...ears: readonly Ear[]) => ears.flatMap((ear) => ear.of('queue.lost'))
/** The mark, as a pop brings it; pops nothing. */
const markIn = async (queue: MemoryQueue) => (await queue.pop({ jobs: [], limit: 0, waitMs: 0 })).mark

/** A job that nothing runs until its gate opens; its sweep is an hour away. */
function held(app: App, every = '1h') {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  app.job('thing.make', {
    pending,
    sweep: { every: every as '1h' },
    async run(id, ctx) {
      await gate
      await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
    },
  })
  return { open: () => open() }
}

describe.each([
  ['idle', 0, 5],
  ['busy in every slot', 5, 5],
] as const)('workers that are %s', (_, rows, concurrency) => {
  /** Two workers behind one queue; `rows` keys keep each of them busy. */
  async function fleet() {
    const queue = world.queue()
    const [a, b] = [world.app({}, queue), world.app({}, queue)]
    const gates = [held(a.app), held(b.app)]
    await fill(2 * rows)
    await world.work(a.app, { concurrency })
    await world.work(b.app, { concurrency })
    await world.until(async () => a.ear.of('job.started').length + b.ear.of('job.started').length === 2 * rows)
    await world.pass(3_000)
    return { queue, a, b, gates }
  }

  test.each([
    ['wiped', 'missing', (queue: MemoryQueue) => queue.wipe()],
    ['put back to an old copy', 'behind', (queue: MemoryQueue) => queue.setMark({ epoch: 1, sequence: 0 })],
    ['swapped for that of somebody else', 'foreign', (queue: MemoryQueue) => queue.setMark({ epoch: 77, sequence: 5 })],
  ] as const)('notice a queue that was %s within an interval, and one of them declares it', async (_, how, harm) => {
    const { queue, a, b } = await fleet()
    expect(lost(a.ear, b.ear)).toEqual([])
    const before = await marks()
    await harm(queue)
    const at = world.clock.now()
    await world.until(() => lost(a.ear, b.ear).length > 0, noticedMs)
    expect(world.clock.now() - at).toBeLessThanOrEqual(noticedMs)
    await world.pass(10_000)
    expect(lost(a.ear, b.ear)).toMatchObject([{ how, queue: 'memory' }])
    expect(await heals()).toMatchObject([{ how, ended: true, jobs_left: 0 }])
    const after = await marks()
    expect(after?.epoch).toBe((before?.epoch ?? 0) + 1)
    expect((await markIn(queue))?.epoch).toBe(after?.epoch)
  })
})

test('who pops sees the loss at once: nobody waits for the next bump', async () => {
  const queue = world.queue()
  const { app, ear } = world.app({}, queue)
  const make = app.job('other', { pending: sql`select id from things where false`, async run() {} })
  await world.work(app)
  await world.pass(3_000)
  for (let n = 0; n < 3; n++) {
    // Right after a bump: the next one is a second away.
    const { sequence } = (await marks()) as { sequence: number }
    await world.until(async () => (await marks())?.sequence !== sequence, 2_000)
    await queue.wipe()
    const at = world.clock.now()
    await make.enqueue('x')
    await world.until(() => ear.of('queue.lost').length === n + 1, noticedMs)
    expect(world.clock.now() - at).toBeLessThan(200)
    await world.pass(3_000)
  }
})

test('what the queue held is back after a loss, from the first row on, though a pass had got further', async () => {
  const queue = world.queue({ maxHints: 1_500 })
  const { app, ear } = world.app({}, queue)
  const gate = held(app)
  await fill(4_000)
  await world.work(app, { concurrency: 1 })
  // Full: the pass waits at its cursor, and what it pushed is lost.
  expect(await world.query(`select cursor from regrow.sweeps`)).toEqual([{ cursor: 'k0001000' }])
  await queue.wipe()
  await world.until(() => ear.of('queue.lost').length === 1, noticedMs)
  await world.until(() => ear.of('queue.healed').length === 1, 10_000)
  const { hints } = await queue.pop({ jobs: [{ job: 'thing.make', limit: 9_999 }], limit: 9_999, waitMs: 0 })
  expect(hints).toHaveLength(1_500)
  const keys = new Set(hints.map(({ key }) => key))
  // M42: resumed at its cursor, these would be missing. The first one is running.
  expect(keys.has('k0000001')).toBe(false)
  expect(keys.has('k0000002') && keys.has('k0000500')).toBe(true)
  gate.open()
  await world.until(() => ear.of('job.settled', { state: 'done' }).length >= 1)
})

test('hints come back slowly at first and then faster: never more than the ramp allows', async () => {
  const queue = world.queue()
  const pushes: { at: number; count: number }[] = []
  const push = queue.push.bind(queue)
  queue.push = async (hints: readonly Hint[]) => {
    const pushed = await push(hints)
    pushes.push({ at: world.clock.now(), count: pushed.added })
    return pushed
  }
  const { app, ear } = world.app({}, queue)
  held(app)
  await world.work(app, { concurrency: 1 })
  await fill(20_000)
  await queue.wipe()
  await world.until(() => ear.of('queue.lost').length === 1, noticedMs)
  const lostAt = world.clock.now()
  await world.until(() => ear.of('queue.healed').length === 1, 20_000)
  let sum = 0
  for (const { at, count } of pushes) {
    sum += count
    expect(sum, `after ${at - lostAt} ms`).toBeLessThanOrEqual(allowedBy(at - lostAt + 50))
  }
  // L9, and still quick: a thousand at once, twenty thousand after less than half a second.
  expect(sum).toBe(20_000)
  expect((pushes[0]?.at ?? 0) - lostAt).toBeLessThan(100)
  expect(ear.of('queue.healed')[0]).toMatchObject({ pushed: 20_000 })
  expect(ear.of('queue.healed')[0]?.tookMs).toBeGreaterThan(200)
  expect(ear.of('queue.healed')[0]?.tookMs).toBeLessThan(1_000)
})

test('rebuilds are two seconds apart at least, however often the queue is wiped', async () => {
  const queue = world.queue()
  const { app, ear } = world.app({}, queue)
  held(app)
  await fill(50)
  await world.work(app, { concurrency: 1 })
  for (let n = 0; n < 40; n++) {
    await queue.wipe()
    await world.pass(150)
  }
  await world.pass(5_000)
  const times = ear.times('queue.lost')
  expect(times.length).toBeGreaterThan(1)
  for (let n = 1; n < times.length; n++)
    expect((times[n] as number) - (times[n - 1] as number)).toBeGreaterThanOrEqual(2_000)
  expect(await heals()).toHaveLength(times.length)
  expect((await queue.count(['thing.make'])).get('thing.make')?.due).toBe(49)
})

test('a bump changes the mark it finds and makes none, and the store is never ahead of the queue', async () => {
  const queue = world.queue()
  const { app, ear } = world.app({}, queue)
  held(app)
  await world.work(app)
  for (let n = 0; n < 10; n++) {
    await world.pass(700)
    const stored = await marks()
    const mark = await markIn(queue)
    expect(mark?.epoch).toBe(stored?.epoch)
    expect(mark?.sequence ?? -1).toBeGreaterThanOrEqual(stored?.sequence ?? 0)
  }
  expect((await marks())?.sequence).toBeGreaterThanOrEqual(6)
  expect(ear.of('queue.lost')).toEqual([])
})

test('a store that forgot its last bumps is behind the queue, and that is no loss', async () => {
  const queue = world.queue()
  const { app, ear } = world.app({}, queue)
  held(app)
  await world.work(app)
  await world.pass(5_000)
  await world.query(`update regrow.marks set sequence = 0`)
  await world.pass(5_000)
  expect(ear.of('queue.lost')).toEqual([])
})

test('a process that comes to a fleet after a loss knows the epoch, and declares nothing', async () => {
  const queue = world.queue()
  const a = world.app({}, queue)
  held(a.app)
  await world.work(a.app)
  await queue.wipe()
  await world.until(() => a.ear.of('queue.lost').length === 1, noticedMs)
  const b = world.app({}, queue)
  held(b.app)
  await world.work(b.app)
  await world.pass(10_000)
  expect(lost(a.ear, b.ear)).toHaveLength(1)
})

test('a queue that the store never heard of gets its mark, and its sweeps are due: nothing was lost', async () => {
  const { app, ear } = world.app()
  held(app)
  await fill(3)
  // Swept a moment ago, for another queue: the next pass is an hour away.
  await world.query(
    `insert into regrow.sweeps (job, next_at, last_success_at) values ('thing.make', regrow.clock() + interval '1 hour', regrow.clock())`,
  )
  await world.work(app, { concurrency: 3 })
  await world.until(() => ear.of('job.started').length === 3, 2_000)
  expect(ear.of('queue.lost')).toEqual([])
  expect(await heals()).toEqual([])
})

test('M38: a queue in memory of one process never declares a loss', async () => {
  const queue = world.queue({}, { shared: false })
  const { app, ear } = world.app({}, queue)
  held(app)
  await fill(50)
  await world.work(app, { concurrency: 1 })
  await queue.wipe()
  await world.pass(20_000)
  expect(ear.of('queue.lost')).toEqual([])
  expect(await world.query(`select * from regrow.marks`)).toEqual([])
})

test('a part that was lost is repaired by the next pass, without a new epoch', async () => {
  const queue = world.queue()
  const { app, ear } = world.app({}, queue)
  held(app, '10s')
  await fill(300)
  await world.work(app, { concurrency: 1 })
  const taken = await queue.pop({ jobs: [{ job: 'thing.make', limit: 100 }], limit: 100, waitMs: 0 })
  expect(taken.hints).toHaveLength(100)
  await world.until(() => ear.of('sweep.passed', { pushed: 100 }).length === 1, 12_000)
  expect((await queue.count(['thing.make'])).get('thing.make')?.due).toBe(299)
  expect(ear.of('queue.lost')).toEqual([])
})
