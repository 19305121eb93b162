// Rules of what is missing, and of a clock that is set back (L10): a table that was emptied is told of and filled again, and a time that
// is further ahead than it could be keeps nothing waiting.
import assert from 'node:assert/strict'
import type { Claim } from '../../store/ledger.ts'
import type { ScheduleSpec } from '../../store/schedules.ts'
import type { Case } from '../suite.ts'
import { answers, fail, jobName, leaseMs, live, liveKeys, type StoreContext, take, verdict, worker } from './context.ts'

const hourMs = 3_600_000

/** The clock of the store is set back by an hour. */
const setBack = (context: StoreContext) => context.pass(-hourMs)

const end = { cursor: null, nextMs: 60_000, error: null, seen: 0, pushed: 0, held: 0, tookMs: 1, everyMs: 60_000 }

const spec: ScheduleSpec = {
  ...{ name: 's', job: 's', lane: 's', cron: null, everyMs: 60_000, tz: 'UTC', startAtMs: null, endAtMs: null },
  ...{ missed: 'once', jitterMs: 0, key: null, input: null, declared: true },
  overlap: 'skip',
}

export const recoveryCases: readonly Case<StoreContext>[] = [
  {
    name: 'a job whose sweep is gone is missing, until it is declared again and due at once',
    async run({ store, database }) {
      const declared = [{ job: jobName, everyMs: 60_000 }]
      await store.sweeps.declare(declared)
      assert.deepEqual((await store.sweeps.turn('w1', [jobName], 1)).missing, [])
      await database.own('sweeps').remove()
      const { turns, missing } = await store.sweeps.turn('w1', [jobName], 1)
      assert.deepEqual([turns, missing], [[], [jobName]])
      await store.sweeps.declare(declared)
      assert.equal((await store.sweeps.turn('w1', [jobName], 1)).turns.length, 1)
    },
  },
  {
    name: 'a beat makes the pulse again, with grace for everybody; without it nobody is freed',
    async run(context) {
      const { store, database } = context
      await worker(context, 'dead')
      await worker(context, 'other')
      await take(context, 'dead', ['x'])
      await live(context, ['other'], 2 * leaseMs)
      await database.own('pulse').remove()
      assert.equal((await store.workers.free(leaseMs)).workers, 0)
      assert.deepEqual((await store.status.jobs(leaseMs)).pulse, { missing: true, setBack: null })
      await store.workers.beat('other', [], 0, leaseMs)
      assert.equal((await store.workers.free(leaseMs)).workers, 0)
      await live(context, ['other'], leaseMs)
      assert.equal((await store.workers.free(leaseMs)).workers, 1)
      assert.equal((await store.status.jobs(leaseMs)).pulse.missing, false)
    },
  },
  {
    name: 'a schedule that is gone, or of an older version than was declared, is missing',
    async run({ store, database }) {
      await store.schedules.declare([spec])
      const missing = async (version: number) => (await store.schedules.turn(10_000, new Map([['s', version]]))).missing
      assert.deepEqual([await missing(1), await missing(2)], [false, true])
      await database.own('schedules').remove()
      assert.equal(await missing(1), true)
    },
  },
  {
    name: 'after the clock is set back sweeps and audits are due at once, turns are over, and pauses keep their length',
    async run(context) {
      const { store } = context
      await store.sweeps.declare(['a', 'b', 'c'].map((job) => ({ job, everyMs: 60_000 })))
      const [first] = (await store.sweeps.turn('w1', ['a'], 1)).turns
      assert.ok(first)
      await store.sweeps.end('w1', [{ turn: first, end }])
      await store.sweeps.turn('w1', ['b'], 1)
      await store.pauses.pause('c', 'why not', 'ann', 120_000)
      assert.equal((await store.schedules.turn(10_000)).waitMs, 0)
      await setBack(context)
      const { turns } = await store.sweeps.turn('w2', ['a', 'b'], 2)
      assert.deepEqual(turns.map(({ job }) => job).sort(), ['a', 'b'])
      await store.sweeps.end(
        'w2',
        turns.map((turn) => ({ turn, end })),
      )
      assert.deepEqual((await store.sweeps.turn('w1', ['a', 'b'], 2)).turns, [])
      assert.equal((await store.schedules.turn(10_000)).waitMs, 0)
      await context.pass(119_000)
      assert.deepEqual((await store.sweeps.turn('w2', ['c'], 1)).pausesOver, [])
      await context.pass(2_000)
      assert.deepEqual((await store.sweeps.turn('w2', ['c'], 1)).pausesOver, ['c'])
    },
  },
  {
    name: 'after the clock is set back a dead worker is freed after a lease, and one that lives keeps its claims',
    async run(context) {
      const { store } = context
      await worker(context, 'dead')
      await worker(context, 'other')
      await take(context, 'dead', ['x'])
      await take(context, 'other', ['y'])
      await live(context, ['dead', 'other'], 2 * leaseMs)
      await setBack(context)
      await store.workers.beat('other', [], 0, leaseMs)
      assert.equal((await store.workers.free(leaseMs)).workers, 0)
      await live(context, ['other'], 1.2 * leaseMs)
      assert.equal((await store.workers.free(leaseMs)).workers, 1)
      assert.deepEqual(await liveKeys(context, ['x', 'y']), ['y'])
      const { pulse } = await store.status.jobs(leaseMs)
      // A schema before does not know.
      if (pulse.setBack) assert.equal(pulse.setBack.byMs, hourMs)
    },
  },
  {
    name: 'after the clock is set back a key that failed before may start, and waits again when it fails again',
    async run(context) {
      await worker(context, 'w1')
      await fail(context, 'w1', 'k', { retryMs: 30_000 })
      assert.equal(await verdict(context, 'w1', 'k'), 'not_due')
      await setBack(context)
      await worker(context, 'w2')
      assert.equal((await context.store.ledger.standing(jobName, ['k']))[0]?.waitMs, 0)
      const rows = await context.database.create('rows', { id: 'text' })
      await rows.insert([{ id: 'k' }])
      const job = context.job(jobName, context.database.pending({ table: 'rows', columns: ['id'] }))
      assert.equal((await context.store.source(job).page(null, 10, 0, 1_000)).rows.length, 1)
      await fail(context, 'w2', 'k', { failures: 2, retryMs: 30_000 })
      const found = (await answers(context, 'w2', ['k'])).get('k')
      assert.deepEqual([found?.verdict, found?.waitMs], ['not_due', 30_000])
    },
  },
  {
    name: 'a key that was taken before the clock is set back may start at once when its claim ends',
    async run(context) {
      const { store } = context
      const keys = ['given back', 'unknown to its worker', 'of a dead worker']
      await worker(context, 'w1')
      for (const key of keys) await fail(context, 'w1', key, { retryMs: 1_000 })
      await context.pass(2_000)
      const [given, , dead] = (await take(context, 'w1', keys)) as [Claim, Claim, Claim]
      await setBack(context)
      await store.ledger.release('w1', [given])
      const known = [given.take, dead.take]
      assert.equal((await store.workers.beat('w1', known, dead.take, leaseMs)).givenBack, 1)
      assert.equal((await store.workers.free(-1)).keys[0]?.key, dead.key)
      await worker(context, 'w2')
      for (const key of keys) assert.equal(await verdict(context, 'w2', key), 'taken', key)
    },
  },
  {
    name: 'after the clock is set back the mark says so until the queue is declared lost, which is not too soon',
    async run(context) {
      const { marks } = context.store
      await marks.look('q', 400)
      await context.pass(1_000)
      const loss = { known: { epoch: 1, sequence: 0 }, found: null, how: 'missing', by: 'test' } as const
      const mark = await marks.lose('q', loss, 500)
      assert.equal((await marks.look('q', 400))?.setBack, false)
      await setBack(context)
      assert.deepEqual(await marks.look('q', 400), { mark, first: false, bumps: false, setBack: true })
      assert.ok(await marks.lose('q', { ...loss, known: { epoch: 2, sequence: 0 } }, 500))
      assert.equal((await marks.look('q', 400))?.setBack, false)
    },
  },
  {
    name: 'each worker has its own lease: one that beats seldom is not freed by another with a short one',
    async run(context) {
      const { store } = context
      const [shortMs, longMs] = [leaseMs / 5, leaseMs]
      const register = (holder: string, ms: number) =>
        store.workers.register({ holder, host: 'host', pid: 1, jobs: { [jobName]: 'x' } }, ms)
      await register('long', longMs)
      await register('short', shortMs)
      const [row] = await store.status.workers(leaseMs)
      // A schema before does not know: each is judged by the lease of the other.
      if (row?.leaseMs === null) return
      await take(context, 'long', ['x'])
      const beats = async (ms: number, holders: readonly (readonly [string, number])[]) => {
        const step = shortMs / 5
        for (let passed = step; passed <= ms; passed += step) {
          await context.pass(step)
          for (const [holder, lease] of holders)
            if (passed % (lease / 5) === 0) await store.workers.beat(holder, [], 0, lease)
          assert.deepEqual((await store.workers.free(shortMs)).keys, [])
        }
      }
      await beats(longMs, [
        ['long', longMs],
        ['short', shortMs],
      ])
      assert.ok((await store.status.workers(shortMs)).every((worker) => worker.live))
      // Dead: the one with the short lease is freed after that, also by the one with the long lease, and the other way round.
      await context.pass(shortMs)
      for (let step = 0; step < 5; step++) {
        await context.pass(longMs / 5)
        await store.workers.beat('long', [], 0, longMs)
        await store.workers.free(longMs)
      }
      assert.deepEqual(
        (await store.status.workers(longMs)).map(({ id }) => id),
        ['long'],
      )
      await register('short2', shortMs)
      for (let passed = 0; passed < 0.9 * longMs; passed += shortMs / 5) {
        await context.pass(shortMs / 5)
        await store.workers.beat('short2', [], 0, shortMs)
        assert.equal((await store.workers.free(shortMs)).workers, 0)
      }
      for (let passed = 0; passed < longMs; passed += shortMs / 5) {
        await context.pass(shortMs / 5)
        await store.workers.beat('short2', [], 0, shortMs)
        await store.workers.free(shortMs)
      }
      assert.deepEqual(await liveKeys(context, ['x']), [])
    },
  },
  {
    name: 'a schedule that a clock brought too far is brought back: what ran stays, and what did not may come again',
    async run(context) {
      const { schedules } = context.store
      const look = async () => {
        const { atMs, rows } = await schedules.look(['s'], leaseMs)
        return { atMs, row: rows[0] as (typeof rows)[number] }
      }
      await schedules.declare([spec])
      await context.pass(hourMs)
      const { atMs, row } = await look()
      const slot = (slotMs: number, how: object = {}) => ({
        ...{
          schedule: 's',
          slotMs,
          version: 1,
          lane: 's',
          key: `s@1@${slotMs}`,
          dueMs: slotMs,
          state: 'waiting' as const,
        },
        ...{ reason: null, throughMs: null, count: null, begins: false, ...how },
      })
      const skipped = slot(atMs - 1_800_000, { state: 'skipped', reason: 'missed' })
      const slots = [skipped, slot(atMs - 60_000), slot(atMs + 60_000)]
      await schedules.write([{ name: 's', term: row.term, lastSlotMs: atMs - 60_000, slots }])
      await schedules.finish([`s@1@${atMs - 60_000}`])
      assert.deepEqual((await look()).row.ran, [])
      await setBack(context)
      const back = await schedules.upkeep.rewind(['s', 'nobody'])
      // A schema before cannot.
      if (back.length === 0) return
      assert.deepEqual(back, ['s'])
      const now = await look()
      assert.equal(now.row.lastSlotMs, now.atMs)
      assert.deepEqual(now.row.ran, [atMs - 60_000])
      assert.deepEqual(
        now.row.open.map(({ slotMs, held }) => [slotMs, held]),
        [[atMs + 60_000, true]],
      )
      const told = await context.store.timetable.slots('s', 10)
      assert.deepEqual(told.map(({ at }) => at.getTime()).sort(), [atMs - 60_000, atMs + 60_000])
    },
  },
]
