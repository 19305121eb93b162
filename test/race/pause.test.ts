// Races of the kill switch on a real Postgres: with checks (S8), with the turn of a sweep, and with a turn's end.
import { setImmediate as soon } from 'node:timers/promises'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow } from '../../src/index.ts'
import { type Job, readJob } from '../../src/job/job.ts'
import type { OneTripClaims } from '../../src/store/ledger.ts'
import type { Source } from '../../src/store/source.ts'
import type { Store } from '../../src/store/store.ts'
import type { Turn } from '../../src/store/sweeps.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { keys, Stores } from './stores.ts'

const seed = Date.now()
const random = new Seeded(seed)
console.log(`race of pauses: seed ${seed}`)

const end = { cursor: null, error: null, seen: 7, pushed: 0, held: 0, tookMs: 1, nextMs: 60_000, finished: true }

let stores: Stores
let eight: Store[]
const pending = { text: `select id from things where state = 'pending'`, values: [] }
beforeAll(async () => {
  stores = await Stores.open('race_pause')
  eight = await stores.many(8)
  await stores.query(`create table things (id text primary key, state text not null default 'pending')`)
  await stores.query('create table effects (id text not null)')
})
afterAll(() => stores.close())
beforeEach(async () => {
  await stores.query(
    'truncate things, effects, regrow.pauses, regrow.sweeps, regrow.workers, regrow.ledger, regrow.heals',
  )
  for (let i = 0; i < 8; i++) await stores.worker(`w${i}`)
})

/** When a check began and was answered. */
interface Span {
  readonly begun: number
  readonly answered: number
}

/** Before and after, as this process sees them: what began after something was answered has the greater number. */
class Order {
  #now = 0
  /** From the answer of a pause to the call of its resume; open at its end while it holds. */
  readonly pauses: { from: number; to: number }[] = []
  readonly next = () => ++this.#now

  /** Whether a check that began and was answered then must have found the job paused. */
  readonly surelyPaused = ({ begun, answered }: Span) =>
    this.pauses.some(({ from, to }) => from < begun && answered < to)

  async paused(pause: () => Promise<unknown>): Promise<void> {
    await pause()
    this.pauses.push({ from: this.next(), to: Number.POSITIVE_INFINITY })
  }

  async resumed(resume: () => Promise<unknown>): Promise<void> {
    const last = this.pauses.at(-1)
    if (last) last.to = this.next()
    await resume()
  }
}

const aMoment = async () => {
  for (let i = random.below(60); i > 0; i--) await soon()
}

test('of eight who check while a job is paused and resumed, none whose check began after the pause committed starts a key', async () => {
  await stores.query(`insert into things select 'k' || n from generate_series(0, 19) n`)
  const custom = { page: async () => [], isPending: async (ids: readonly string[]) => ids.map((key) => ({ key })) }
  const jobs = [readJob('a', { pending }).job, readJob('a', { pending: custom } as never).job]
  const order = new Order()
  const [first] = eight as [Store]
  let over = false
  const count = { paused: 0, open: 0, sure: 0 }
  const checks = async (source: Source) => {
    while (!over) {
      const begun = order.next()
      const { paused, pending: found } = await source.check(keys(20))
      if (order.surelyPaused({ begun, answered: order.next() })) {
        expect(paused, `a check that began as number ${begun}`).toBe(true)
        count.sure++
      }
      count[paused ? 'paused' : 'open']++
      expect(found.size).toBe(20)
    }
  }
  const checking = Promise.all(eight.map((store, i) => checks(store.source(jobs[i % 2] as Job))))
  // What it found is asked for at the end.
  checking.catch(() => {})
  for (let round = 0; round < 60; round++) {
    await aMoment()
    await order.paused(() => first.pauses.pause('a', 'a reason', 'ann', null))
    await aMoment()
    await order.resumed(() => first.pauses.resume('a', 'ann'))
  }
  over = true
  await checking
  console.log(`checks: ${JSON.stringify(count)}`)
  expect(count.sure).toBeGreaterThan(100)
  expect(count.open).toBeGreaterThan(100)
})

test('a check that began before the pause committed may let its key pass, the next one may not', async () => {
  await stores.query(`insert into things values ('x')`)
  // With a `run_at` the check asks for the time, and there the gate holds it.
  const dated = { text: `select id, null::timestamptz as run_at from things where state = 'pending'`, values: [] }
  const { job } = readJob('a', { pending: dated })
  const [store] = eight as [Store]
  const early = await stores.held(
    (gated) => gated.source(job).check(['x']),
    async () => void (await store.pauses.pause('a', 'a reason', 'ann', null)),
  )
  expect(early.paused, 'its snapshot is older: that is why the rule says when a check begins').toBe(false)
  expect((await store.source(job).check(['x'])).paused).toBe(true)
})

test('two processes that work while their job is paused and resumed start nothing in between, and do each row once', async () => {
  await stores.query(`insert into things select 'k' || n from generate_series(0, 1199) n`)
  const order = new Order()
  const wrong: string[] = []
  let starts = 0
  const apps = [0, 1].map(() => {
    const last = new Map<string, Span>()
    const app = regrow({ store: noting(postgres(stores.url), order, last) })
    const job = app.job('a', { pending, sweep: { every: '5s' } })
    const handler = job.handle((id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query('insert into effects values ($1)', [id])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
      }),
    )
    app.on('job.started', ({ key }) => {
      starts++
      if (order.surelyPaused(last.get(key) as Span)) wrong.push(key)
    })
    return { app, job, worker: app.work({ concurrency: 10, handlers: [handler] }) }
  })
  const [{ app, job }] = apps as [(typeof apps)[0]]
  await Promise.all(apps.map(({ worker }) => worker.ready))
  const waiting = async () =>
    (await stores.query(`select id from things where state = 'pending'`)).map(({ id }) => id as string)
  let refused = 0
  for (const each of apps) each.app.on('hint.refused', ({ why }) => void (why === 'paused' && refused++))
  try {
    for (let rest = await waiting(); rest.length > 0; rest = await waiting()) {
      await job.enqueueMany(random.shuffled(rest).slice(0, 150))
      await aMoment()
      await order.paused(() => app.pause('a', { reason: 'a reason' }))
      await aMoment()
      await order.resumed(() => app.resume('a'))
    }
  } finally {
    await Promise.all(apps.map((each) => each.worker.stop().then(() => each.app.close())))
  }
  console.log(`starts: ${starts}, refused: ${refused}, pauses: ${order.pauses.length}`)
  expect(wrong).toEqual([])
  expect(refused).toBeGreaterThan(0)
  const [effects] = await stores.query('select count(*)::int as all, count(distinct id)::int as keys from effects')
  expect(effects).toEqual({ all: 1_200, keys: 1_200 })
})

/** A driver that notes the last check of each key. */
function noting(driver: StoreDriver, order: Order, last: Map<string, Span>): StoreDriver {
  return {
    ...driver,
    open: async (around) => {
      const opened = await driver.open(around)
      const { ledger } = opened.store
      const noted = async <T>(keys: readonly string[], check: () => Promise<T>): Promise<T> => {
        const begun = order.next()
        const answer = await check()
        const span = { begun, answered: order.next() }
        for (const key of keys) last.set(key, span)
        return answer
      }
      const source = (job: Job) => {
        const inner = opened.store.source(job)
        const check = (keys: readonly string[]) => noted(keys, () => inner.check(keys))
        return new Proxy(inner, {
          get: (target, name) => (name === 'check' ? check : Reflect.get(target, name)),
        })
      }
      // Most checks travel right behind their take.
      const inner = ledger.oneTrip as OneTripClaims
      const oneTrip: OneTripClaims = {
        claim: (holder, source, claims, ...rest) =>
          noted(
            claims.map(({ key }) => key),
            () => inner.claim(holder, source, claims, ...rest),
          ),
      }
      return { ...opened, store: { ...opened.store, source, ledger: { ...ledger, oneTrip } } }
    },
  }
}

test('a turn that looked before a resume committed is one that hints, and slowly', async () => {
  const [store] = eight as [Store]
  await store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
  await store.pauses.pause('a', 'a reason', 'ann', null)
  const { turns } = await stores.held(
    (gated) => gated.sweeps.turn('w1', ['a'], 1),
    async () => void (await store.pauses.resume('a', 'ann')),
  )
  expect(turns).toMatchObject([{ job: 'a', paused: false, cursor: null }])
  expect(turns[0]?.rampedMs).not.toBeNull()
})

test('a turn that looked before a pause committed is one that only counts', async () => {
  const [store] = eight as [Store]
  await store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
  const { turns } = await stores.held(
    (gated) => gated.sweeps.turn('w1', ['a'], 1),
    async () => void (await store.pauses.pause('a', 'a reason', 'ann', null)),
  )
  expect(turns).toMatchObject([{ job: 'a', paused: true }])
})

test.each(['pause', 'resume'] as const)(
  'the end of a turn that counts and a %s at once do not deadlock',
  async (verb) => {
    const [store] = eight as [Store]
    await store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
    await store.pauses.pause('a', 'a reason', 'ann', null)
    const [turn] = (await store.sweeps.turn('w1', ['a'], 1)).turns as [Turn]
    // The end is held in the middle, by a loss of the queue that it has to count: it has the sweep's row, not yet the pause's.
    await stores.query(`with h as (insert into regrow.heals (queue, epoch, at, how, noticed_by, jobs_left)
    values ('q', 1, clock_timestamp(), 'missing', 'w1', 2) returning id) update regrow.sweeps set heal = h.id from h`)
    const [gate, one, two] = [await stores.client(), await stores.client(), await stores.client()]
    await gate.query('begin')
    await gate.query('select 1 from regrow.heals for update')
    const begun = async (client: pg.Client, act: (on: Store) => Promise<unknown>) => {
      const { rows } = await client.query('select pg_backend_pid() as pid')
      const acting = act(await stores.store(client))
      // What comes of it is asked for at the end.
      acting.catch(() => {})
      await stores.blocked(rows[0].pid)
      return { acting }
    }
    const ending = await begun(one, (on) => on.sweeps.end('w1', [{ turn, end }]))
    const other = await begun(two, (on) =>
      verb === 'pause' ? on.pauses.pause('a', 'another', 'bob', null) : on.pauses.resume('a', 'bob'),
    )
    await gate.query('rollback')
    await Promise.all([ending.acting, other.acting])
    expect((await store.pauses.list()).map(({ reason, backlog }) => ({ reason, backlog }))).toEqual(
      verb === 'pause' ? [{ reason: 'another', backlog: 7 }] : [],
    )
  },
)
