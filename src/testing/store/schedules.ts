// Rules of schedules: one write after the other, no slot twice, and an edit holds what has not begun.
import assert from 'node:assert/strict'
import type { ScheduleRow, ScheduleSpec, SlotWrite } from '../../store/schedules.ts'
import type { Source } from '../../store/source.ts'
import type { Case } from '../suite.ts'
import { jobName, leaseMs, outcome, type StoreContext, take, worker } from './context.ts'

const spec = (how: Partial<ScheduleSpec> = {}): ScheduleSpec => ({
  name: 's',
  job: jobName,
  lane: jobName,
  cron: null,
  everyMs: 60_000,
  tz: 'UTC',
  startAtMs: null,
  endAtMs: null,
  missed: 'once',
  overlap: 'skip',
  jitterMs: 0,
  key: null,
  input: null,
  declared: true,
  ...how,
})

/** An instant so many minutes after the beginning of 2026. */
const minute = (n: number) => Date.UTC(2026, 0, 1) + n * 60_000
const keyOf = (n: number, version = 1) => `s@${version}@${new Date(minute(n)).toISOString()}`

const slot = (n: number, how: Partial<SlotWrite> = {}): SlotWrite => ({
  schedule: 's',
  slotMs: minute(n),
  version: 1,
  lane: jobName,
  key: keyOf(n),
  dueMs: minute(n),
  state: 'waiting',
  reason: null,
  throughMs: null,
  count: null,
  begins: false,
  ...how,
})

async function look({ store }: StoreContext): Promise<ScheduleRow> {
  const { rows } = await store.schedules.look(['s'], leaseMs)
  assert.equal(rows.length, 1)
  return rows[0] as ScheduleRow
}

/** Writes what must be taken. */
async function write(context: StoreContext, slots: readonly SlotWrite[], lastSlotMs: number | null = null) {
  const { term } = await look(context)
  const written = await context.store.schedules.write([{ name: 's', term, lastSlotMs, slots }])
  assert.deepEqual([...written], ['s'])
}

/** The source of a job whose keys are slots. */
function slotsOf(context: StoreContext): Source {
  const job = context.job(jobName, context.database.pending({ table: 'none', columns: ['id'] }))
  return context.store.source({ ...job, query: null, slots: true })
}

const pending = async (context: StoreContext, ...keys: string[]) => [
  ...(await slotsOf(context).check(keys)).pending.keys(),
]

export const schedulesCases: readonly Case<StoreContext>[] = [
  {
    name: 'a schedule is as it was declared; the same declaration again changes nothing, another one raises its version',
    async run(context) {
      assert.deepEqual(await context.store.schedules.declare([spec()]), ['s'])
      const first = await look(context)
      assert.deepEqual(
        {
          ...spec(),
          version: 1,
          paused: false,
          jobPaused: false,
          handedMs: null,
          live: false,
          lastSlotMs: null,
          open: [],
          ran: [],
        },
        (({ term: _, fromMs: __, ...rest }) => rest)(first),
      )
      await context.store.schedules.declare([spec()])
      assert.deepEqual(await look(context), first)
      await context.store.schedules.declare([spec({ everyMs: 30_000 })])
      assert.equal((await look(context)).version, 2)
      assert.deepEqual(await context.store.schedules.declare([spec({ declared: false })]), [])
    },
  },
  {
    name: 'a write of what was read before somebody else wrote is refused whole',
    async run(context) {
      await context.store.schedules.declare([spec()])
      const { term } = await look(context)
      await write(context, [slot(1)])
      const stale = await context.store.schedules.write([{ name: 's', term, lastSlotMs: minute(1), slots: [slot(2)] }])
      assert.equal(stale.size, 0)
      const { open, lastSlotMs } = await look(context)
      assert.deepEqual([open.map(({ slotMs }) => slotMs), lastSlotMs], [[minute(1)], null])
    },
  },
  {
    name: 'a slot that ran is never made again, nor is one at or before the last',
    async run(context) {
      const holder = await worker(context, 'w')
      await context.store.schedules.declare([spec()])
      await write(context, [slot(5, { begins: true })], minute(5))
      const [claim] = await take(context, holder, [keyOf(5)])
      assert.ok(claim)
      await context.store.ledger.settle(holder, [outcome(claim, { finish: 'slot' })])
      assert.deepEqual(await pending(context, keyOf(5)), [])
      await write(context, [slot(5), slot(4), slot(6)])
      assert.deepEqual(
        (await look(context)).open.map(({ slotMs }) => slotMs),
        [minute(6)],
      )
    },
  },
  {
    name: 'a settle records a slot as run only where the claim is held and the run succeeded',
    async run(context) {
      const [one, two] = [await worker(context, 'one'), await worker(context, 'two')]
      await context.store.schedules.declare([spec()])
      await write(context, [slot(1)])
      const [claim] = await take(context, one, [keyOf(1)])
      assert.ok(claim)
      await context.store.ledger.settle(two, [outcome(claim, { finish: 'slot' })])
      assert.deepEqual(await pending(context, keyOf(1)), [keyOf(1)])
      const failed = { state: 'retrying', failures: 1, finish: null } as const
      await context.store.ledger.settle(one, [outcome(claim, failed)])
      assert.deepEqual(await pending(context, keyOf(1)), [keyOf(1)])
    },
  },
  {
    name: 'an edit holds slots that have not begun, and leaves one that has; a paused schedule has none that is pending',
    async run(context) {
      await context.store.schedules.declare([spec()])
      await write(context, [slot(1, { begins: true }), slot(2)], minute(1))
      assert.deepEqual(await pending(context, keyOf(1), keyOf(2)), [keyOf(1), keyOf(2)])
      await context.store.schedules.declare([spec({ everyMs: 120_000 })])
      assert.deepEqual(await pending(context, keyOf(1), keyOf(2)), [keyOf(1)])
      assert.deepEqual(
        (await look(context)).open.map(({ held }) => held),
        [false, true],
      )
      await write(context, [slot(2, { version: 2, key: keyOf(2, 2) })])
      assert.deepEqual(await pending(context, keyOf(2), keyOf(2, 2)), [keyOf(2, 2)])
      assert.equal(await context.store.timetable.control.pause('s', 'because', 'me'), true)
      assert.deepEqual(await pending(context, keyOf(1), keyOf(2, 2)), [])
      assert.equal(await context.store.timetable.control.resume('s', 'me'), true)
    },
  },
  {
    name: 'a resume of a schedule that is neither paused nor ended changes nothing; one of nobody is told',
    async run(context) {
      const { schedules, timetable } = context.store
      await schedules.declare([spec()])
      await write(context, [slot(1, { dueMs: minute(1_000_000) })])
      const before = await look(context)
      assert.equal(await timetable.control.resume('s', 'me'), true)
      assert.deepEqual(await look(context), before)
      assert.equal(await timetable.control.resume('nobody', 'me'), false)
      await timetable.control.pause('s', 'because', 'me')
      assert.equal(await timetable.control.resume('s', 'me'), true)
      assert.deepEqual((await look(context)).open, [])
    },
  },
  {
    name: 'one audit is due at a time, by the clock of the store',
    async run(context) {
      const { schedules } = context.store
      assert.deepEqual(await schedules.turn(10_000), { waitMs: 0, missing: false })
      const { waitMs } = await schedules.turn(10_000)
      assert.ok(waitMs > 9_000 && waitMs <= 10_000)
      await context.pass(10_001)
      assert.deepEqual(await schedules.turn(10_000), { waitMs: 0, missing: false })
    },
  },
  {
    name: 'a schedule that a person ended stays so; one that nobody declared for seven days ends, and comes back',
    async run(context) {
      const { schedules, timetable } = context.store
      await schedules.declare([spec()])
      await write(context, [slot(1)])
      await context.pass(7 * 86_400_000 + 1)
      // Nobody was there, and who has it may be starting still.
      const other = { holder: 'other', host: 'host', pid: 1, jobs: { 'another job': 'x' } }
      await context.store.workers.register(other, leaseMs)
      assert.deepEqual((await schedules.upkeep.tidy(leaseMs)).ended, [])
      await context.pass(3_600_000)
      await context.store.workers.beat('other', [], 0, leaseMs)
      assert.deepEqual((await schedules.upkeep.tidy(leaseMs)).ended, ['s'])
      assert.deepEqual((await schedules.look(['s'], leaseMs)).rows, [])
      assert.deepEqual(await pending(context, keyOf(1)), [])
      await schedules.declare([spec()])
      assert.equal((await look(context)).version, 2)
      assert.ok(await timetable.control.end('s', 'me'))
      await schedules.declare([spec()])
      assert.deepEqual((await schedules.look(['s'], leaseMs)).rows, [])
      assert.equal(await timetable.control.resume('s', 'me'), true)
      assert.equal((await look(context)).name, 's')
    },
  },
]
