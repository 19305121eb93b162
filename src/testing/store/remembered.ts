// What the end of a turn remembers of its job, and how the losses of a queue are counted: what health is told by.
import assert from 'node:assert/strict'
import type { HealRow, SweepRow } from '../../store/status.ts'
import type { Turn, TurnEnd } from '../../store/sweeps.ts'
import type { Case } from '../suite.ts'
import { leaseMs, type StoreContext, worker } from './context.ts'

const minute = 60_000

const ended = (how: Partial<TurnEnd> = {}): TurnEnd => ({
  cursor: null,
  nextMs: 0,
  error: null,
  seen: 0,
  pushed: 0,
  held: 0,
  tookMs: 1,
  finished: true,
  ...how,
})

async function win({ store }: StoreContext, job = 'a'): Promise<Turn> {
  const [turn] = (await store.sweeps.turn('w1', [job], 1)).turns
  assert.ok(turn, `no turn of ${job}`)
  return turn
}

/** A turn of job `a` that ends like this; nobody stands back for the next one. */
async function turn(context: StoreContext, how: Partial<TurnEnd>): Promise<SweepRow> {
  await context.pass(1_000)
  await context.store.sweeps.end('w1', [{ turn: await win(context), end: ended(how) }])
  return sweepOf(context)
}

async function sweepOf({ store }: StoreContext, job = 'a'): Promise<SweepRow> {
  const { jobs } = await store.status.jobs(leaseMs)
  const sweep = jobs.find((each) => each.job === job)?.sweep
  assert.ok(sweep, `${job} has no sweep`)
  return sweep
}

const now = async ({ store }: StoreContext) => (await store.status.jobs(leaseMs)).at.getTime()

async function begin(context: StoreContext): Promise<void> {
  await worker(context, 'w1')
  await context.store.sweeps.declare([{ job: 'a', everyMs: 5 * minute }])
}

/** The queue named `q` is known, and then declared lost. */
async function lose({ store, pass }: StoreContext): Promise<void> {
  const known = (await store.marks.look('q', 900))?.mark
  assert.ok(known, 'the store has no marks')
  await pass(5_000)
  assert.ok(await store.marks.lose('q', { known, found: null, how: 'missing', by: 'host:7' }, 2_000))
}

async function lastHeal({ store }: StoreContext): Promise<HealRow> {
  const [heal] = await store.status.heals(1)
  assert.ok(heal, 'no heal')
  return heal
}

export const rememberedCases: readonly Case<StoreContext>[] = [
  {
    name: 'a sweep knows the interval of its declaration, and the new one after a deploy',
    async run(context) {
      await begin(context)
      assert.equal((await sweepOf(context)).everyMs, 5 * minute)
      await context.store.sweeps.declare([{ job: 'a', everyMs: minute }])
      assert.equal((await sweepOf(context)).everyMs, minute)
    },
  },
  {
    name: 'a whole pass counts what is pending, in however many turns; rows seen again count once',
    async run(context) {
      await begin(context)
      assert.equal((await sweepOf(context)).pending, null)
      assert.deepEqual((await turn(context, { seen: 40 })).pending?.count, 40)
      await turn(context, { seen: 30, passed: 10, cursor: 'k10', finished: false })
      const { pending } = await turn(context, { seen: 25 })
      assert.deepEqual([pending?.count, pending?.estimated, pending?.at.getTime()], [35, false, await now(context)])
      assert.equal((await turn(context, { seen: 3 })).pending?.count, 3)
    },
  },
  {
    name: 'until a pass is whole an estimate stands in, or what the turn saw if that is more',
    async run(context) {
      await begin(context)
      const count = async (how: Partial<TurnEnd>) => {
        const { pending } = await turn(context, { cursor: 'k', finished: false, ...how })
        return [pending?.count, pending?.estimated]
      }
      assert.deepEqual(await count({ seen: 10_000, passed: 100, estimate: 5_000_000 }), [5_000_000, true])
      assert.deepEqual(await count({ seen: 10_000, passed: 100, estimate: 12 }), [10_000, true])
      // The turns before saw rows that may be done by now: they are not added up.
      assert.deepEqual(await count({ seen: 9_000, passed: 9_000, estimate: 12 }), [9_000, true])
      assert.deepEqual(await count({ seen: 500, finished: true, cursor: null }), [9_700, false])
    },
  },
  {
    name: 'a turn that fails keeps what is known, and is counted until one succeeds',
    async run(context) {
      await begin(context)
      const before = await turn(context, { seen: 7, oldestMs: minute, dropped: 2 })
      await turn(context, { error: 'first', finished: false })
      const failed = await turn(context, { error: 'second', finished: false })
      assert.deepEqual([failed.errors, failed.lastError], [2, 'second'])
      assert.deepEqual([failed.pending, failed.oldestAt], [before.pending, before.oldestAt])
      assert.deepEqual(failed.lastSuccessAt, before.lastSuccessAt)
      const mended = await turn(context, { seen: 1 })
      assert.deepEqual([mended.errors, mended.lastError, mended.dropped], [0, null, 0])
    },
  },
  {
    name: 'the oldest row is that of the whole pass; when nothing waits there is none',
    async run(context) {
      await begin(context)
      const oldest = async (how: Partial<TurnEnd>) => {
        const { oldestAt } = await turn(context, how)
        return oldestAt && (await now(context)) - oldestAt.getTime()
      }
      assert.equal(await oldest({ oldestMs: minute }), minute)
      assert.equal(await oldest({ seen: 5, oldestMs: 10 * minute, cursor: 'k', finished: false }), 10 * minute)
      assert.equal(await oldest({ seen: 5, oldestMs: minute }), 10 * minute + 1_000, 'of the turn before')
      assert.equal(await oldest({ oldestMs: 2 * minute }), 2 * minute)
      assert.equal(await oldest({ oldestMs: null }), null)
    },
  },
  {
    name: 'runs without progress are told for the pass they came in and the one after',
    async run(context) {
      await begin(context)
      const told = async () => (await context.store.status.jobs(leaseMs)).jobs[0]?.noProgress
      await context.store.sweeps.noProgress('a', 3)
      assert.equal(await told(), 3)
      await turn(context, { cursor: 'k', finished: false })
      assert.equal(await told(), 3)
      await turn(context, {})
      assert.equal(await told(), 3)
      // A row that never changes runs once in each pass: it is one row.
      await context.store.sweeps.noProgress('a', 3)
      assert.equal(await told(), 3)
      await turn(context, {})
      await turn(context, {})
      assert.equal(await told(), 0)
    },
  },
  {
    name: 'a loss of the queue is in the history, and ends when the last job of a live worker has its hints back',
    async run(context) {
      const { store } = context
      await begin(context)
      await store.sweeps.declare([{ job: 'unhandled', everyMs: minute }])
      assert.deepEqual(await store.status.heals(10), [])
      await lose(context)
      const lostAt = await now(context)
      assert.deepEqual(await lastHeal(context), {
        queue: 'q',
        epoch: 2,
        at: new Date(lostAt),
        how: 'missing',
        noticedBy: 'host:7',
        pushed: 0,
        jobsLeft: 1,
        endedAt: null,
      })
      assert.deepEqual([(await sweepOf(context)).healing, (await sweepOf(context, 'unhandled')).healing], [true, false])
      const first = await turn(context, { pushed: 500, cursor: 'k', finished: false })
      assert.equal(first.healing, true)
      await context.pass(1_000)
      const last = await win(context)
      const healed = await store.sweeps.end('w1', [{ turn: last, end: ended({ pushed: 20, broughtBack: true }) }])
      assert.deepEqual(healed, [{ epoch: 2, pushed: 520, tookMs: 2_000 }])
      const heal = await lastHeal(context)
      assert.deepEqual([heal.pushed, heal.jobsLeft, heal.endedAt?.getTime()], [520, 0, lostAt + 2_000])
      assert.equal((await sweepOf(context)).healing, false)
      assert.deepEqual(await store.sweeps.end('w1', [{ turn: last, end: ended({ pushed: 1, broughtBack: true }) }]), [])
    },
  },
  {
    name: 'turns that end at once count a heal right: its hints are all there, and one of them ends it',
    async run(context) {
      const jobs = Array.from({ length: 8 }, (_, i) => `job.${i}`)
      const { store } = context
      await store.workers.register(
        { holder: 'w1', host: 'host', pid: 1, jobs: Object.fromEntries(jobs.map((job) => [job, 'x'])) },
        leaseMs,
      )
      await store.sweeps.declare(jobs.map((job) => ({ job, everyMs: minute })))
      await lose(context)
      assert.equal((await lastHeal(context)).jobsLeft, 8)
      const { turns } = await store.sweeps.turn('w1', jobs, 8)
      const stores = await Promise.all(jobs.map(() => context.open()))
      const answers = await Promise.all(
        turns.map((each, i) =>
          stores[i]?.sweeps.end('w1', [{ turn: each, end: ended({ pushed: 10 + i, broughtBack: true }) }]),
        ),
      )
      assert.deepEqual(
        answers.flatMap((healed) => healed ?? []).map(({ pushed }) => pushed),
        [108],
      )
      const heal = await lastHeal(context)
      assert.deepEqual([heal.pushed, heal.jobsLeft, heal.endedAt !== null], [108, 0, true])
    },
  },
  {
    name: 'turns that end in one call are ended each by itself: those of another holder or term are left alone',
    async run(context) {
      const { store } = context
      const jobs = ['a', 'b', 'c', 'd']
      for (const name of ['w1', 'w2']) {
        const declared = Object.fromEntries(jobs.map((job) => [job, 'x']))
        await store.workers.register({ holder: name, host: 'host', pid: 1, jobs: declared }, leaseMs)
      }
      await store.sweeps.declare(jobs.map((job) => ({ job, everyMs: minute })))
      await lose(context)
      const { turns: some } = await store.sweeps.turn('w1', ['a', 'b', 'c'], 3)
      const { turns: others } = await store.sweeps.turn('w2', ['d'], 1)
      const [a, b, c, d] = [...some, ...others].sort((x, y) => (x.job < y.job ? -1 : 1)) as [Turn, Turn, Turn, Turn]
      const end = (pushed: number) => ended({ pushed, broughtBack: true, nextMs: minute })
      const foreign = { turn: { ...b, term: b.term + 1 }, end: end(1_000) }
      const healed = await store.sweeps.end('w1', [
        { turn: c, end: end(3) },
        foreign,
        { turn: d, end: end(1_000) },
        { turn: a, end: end(1) },
      ])
      assert.deepEqual(healed, [])
      assert.deepEqual([(await lastHeal(context)).pushed, (await lastHeal(context)).jobsLeft], [4, 2])
      const sweeping = await Promise.all(jobs.map(async (job) => (await sweepOf(context, job)).sweeping))
      assert.deepEqual(sweeping, [false, true, false, true])
      assert.equal((await store.sweeps.end('w2', [{ turn: d, end: end(5) }])).length, 0)
      assert.equal((await store.sweeps.end('w1', [{ turn: b, end: end(7) }]))[0]?.pushed, 16)
    },
  },
  {
    name: 'hints that a pass brought back are counted on its way, once: a heal that the next loss overtakes has its count',
    async run(context) {
      const { store } = context
      await begin(context)
      await lose(context)
      const first = await win(context)
      assert.equal(await store.sweeps.advance('w1', first, 'k1', 500), true)
      assert.equal(await store.sweeps.advance('w1', first, 'k2', 300), true)
      assert.equal((await lastHeal(context)).pushed, 800)
      await lose(context)
      assert.equal(await store.sweeps.advance('w1', first, 'k3', 100), false)
      assert.deepEqual(
        (await store.status.heals(2)).map(({ pushed }) => pushed),
        [0, 800],
        'what an overtaken pass pushes is nobody’s',
      )
      const second = await win(context)
      assert.equal(await store.sweeps.advance('w1', second, 'k1', 500), true)
      const healed = await store.sweeps.end('w1', [
        { turn: second, end: ended({ pushed: 520, counted: 500, broughtBack: true }) },
      ])
      assert.equal(healed[0]?.pushed, 520)
    },
  },
  {
    name: 'the history of losses is told newest first, and no more of it than asked for',
    async run(context) {
      await begin(context)
      for (let i = 0; i < 3; i++) await lose(context)
      const heals = await context.store.status.heals(2)
      assert.deepEqual(
        heals.map(({ epoch, endedAt }) => [epoch, endedAt !== null]),
        [
          [4, false],
          [3, true],
        ],
        'a loss that was overtaken by the next one is over',
      )
    },
  },
]
