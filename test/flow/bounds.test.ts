// The queue's bounds in virtual time (S11): both lanes and the delayed hints, and what a push that was refused for memory
// does to them. Every row is done once, and another job is swept on time.
import { expect, test } from 'vitest'
import { RegrowError } from '../../src/base/errors.ts'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import type { MemoryQueue } from '../../src/queue/memory.ts'
import { outOfMemory } from '../../src/queue/queue.ts'
import { type Ear, openWorld } from './world.ts'

const everyMs = 60_000

const world =
  openWorld(`create table things (id text collate "C" primary key, state text not null default 'pending', run_at timestamptz);
     create index on things (id) where state = 'pending'`)

const finish = `update things set state = 'done' where id = any (select jsonb_array_elements_text($1::text::jsonb))`
const fill = (count: number, prefix: string, runAt = 'null') =>
  world.query(`insert into things (id, run_at)
    select '${prefix}' || lpad(n::text, 5, '0'), ${runAt} from generate_series(1, ${count}) n`)

/** The job of those rows, whose handler waits for `may`; and one that has nothing to do. */
function jobs(app: App, may: Promise<void>) {
  const job = app.job('thing.make', {
    pending: sql`select id, run_at from things where state = 'pending'`,
    sweep: { every: everyMs },
    batch: 20,
  })
  const other = app.job('other', { pending: sql`select id from things where state = 'other'`, sweep: { every: 5_000 } })
  const handler = job.handle(async (ids, ctx) => {
    await may
    await ctx.tx((tx) => tx.query(finish, [JSON.stringify(ids)]))
  })
  return { job, handlers: [handler, other.handle(async () => {})] }
}

function gate() {
  let open = () => {}
  const may = new Promise<void>((resolve) => {
    open = resolve
  })
  return { may, open: () => open() }
}

/** The most hints that were there at any moment while time passed. */
class Watch {
  due = 0
  delayed = 0
  readonly #queue: MemoryQueue

  constructor(queue: MemoryQueue) {
    this.#queue = queue
  }

  async look(): Promise<void> {
    const { due = 0, delayed = 0 } = (await this.#queue.count(['thing.make'])).get('thing.make') ?? {}
    this.due = Math.max(this.due, due)
    this.delayed = Math.max(this.delayed, delayed)
  }

  /** Lets time pass until `done`, looking at each moment. */
  until(done: () => boolean, limitMs: number): Promise<void> {
    return world.until(async () => {
      await this.look()
      return done()
    }, limitMs)
  }
}

function onTime(ear: Ear): void {
  const moments = ear.times('sweep.passed', { job: 'other' })
  const gap = Math.max(...moments.slice(1).map((at, i) => at - (moments[i] as number)))
  expect(gap).toBeLessThan(5_000 * 1.1 + 1_600)
}

const done = (ear: Ear) => ear.of('job.settled', { state: 'done' }).length

test('each lane holds maxHints and the delayed ones maxDelayed; what is over comes as there is room, none before its time', async () => {
  const queue = world.queue({ maxHints: 100, maxDelayed: 50 })
  const { app, ear } = world.app({}, queue)
  const watch = new Watch(queue)
  const { may, open } = gate()
  const { job, handlers } = jobs(app, may)
  await world.work(app, { concurrency: 1, handlers })
  await fill(200, 'later', `regrow.clock() + interval '30 seconds'`)
  await fill(700, 'now')
  const laterAt = 30_000
  const report = await job.enqueueMany(Array.from({ length: 300 }, (_, i) => `now${String(i + 401).padStart(5, '0')}`))
  expect(report.added + report.dropped).toBe(300)
  expect(report.added).toBe(100)
  await world.query(`update regrow.sweeps set next_at = regrow.clock()`)
  await watch.until(() => ear.of('sweep.passed', { job: 'thing.make', finished: false }).length > 3, 10_000)
  // Of the fresh ones a batch of 20 waits in its handler.
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 180, delayed: 50 }]]))
  open()
  await watch.until(() => done(ear) === 900, 90_000)
  expect(watch.delayed).toBe(50)
  // Both lanes, and delayed ones that fell due.
  expect(watch.due).toBeLessThanOrEqual(2 * 100 + 50)
  const started = ear.told.filter(({ event }) => event === 'job.started')
  expect(started).toHaveLength(900)
  const early = started.filter(({ detail, at }) => (detail as { key: string }).key.startsWith('later') && at < laterAt)
  expect(early).toEqual([])
  expect(ear.of('hint.refused')).toEqual([])
  expect(new Set(ear.of('hint.dropped').map(({ why }) => why))).toEqual(new Set(['full']))
  onTime(ear)
})

/** Refuses pushes that would make it hold more than `memory.fits`, like a server at its limit; counts the refusals. */
function refusing(queue: MemoryQueue, maxHints: number, memory: { fits: number; refused: number }): MemoryQueue {
  const push = queue.push.bind(queue)
  queue.push = async (hints, options = {}) => {
    const { due = 0, delayed = 0 } = (await queue.count(['thing.make'])).get('thing.make') ?? {}
    const room = Math.max(0, Math.floor((options.share ?? 1) * maxHints) - due)
    if (due + delayed + Math.min(room, hints.length) > memory.fits) {
      memory.refused++
      throw new RegrowError(outOfMemory, 'The queue has no memory for more hints', 'Give it more.')
    }
    return push(hints, options)
  }
  return queue
}

test('a push that is refused for memory halves the bound; it grows back, and is refused now and then while memory is short', async () => {
  const [maxHints, fits] = [200, 60]
  const memory = { fits, refused: 0 }
  const queue = refusing(world.queue({ maxHints }), maxHints, memory)
  const { app, ear } = world.app({}, queue)
  const watch = new Watch(queue)
  const { may, open } = gate()
  await fill(600, 'now')
  await world.work(app, { concurrency: 1, handlers: jobs(app, may).handlers })
  const turns = () => ear.of('sweep.passed', { job: 'thing.make' }).length
  await watch.until(() => turns() > 40, 180_000)
  console.log(`room for ${fits} of ${maxHints}: ${memory.refused} of ${turns()} pushes refused, ${watch.due} hints`)
  expect(watch.due).toBeLessThanOrEqual(fits)
  expect(watch.due).toBeGreaterThanOrEqual(fits / 2)
  expect(memory.refused).toBeGreaterThanOrEqual(2)
  expect(memory.refused).toBeLessThan(turns() / 5)
  expect(ear.of('hint.dropped', { why: 'memory' })).toHaveLength(memory.refused)
  // Memory is there again: two doublings, a minute, and the bound is what it was.
  memory.fits = Number.POSITIVE_INFINITY
  await watch.until(() => watch.due === maxHints, 90_000)
  open()
  await watch.until(() => done(ear) === 600, 60_000)
  expect(watch.due).toBe(maxHints)
  expect(ear.of('job.started')).toHaveLength(600)
  expect(ear.of('queue.down')).toEqual([])
  onTime(ear)
}, 120_000)
