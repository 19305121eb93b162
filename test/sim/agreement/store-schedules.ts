// Steps and calls of schedules: declared and edited, decided upon by who read them now or before, run, skipped, paused, ended, and
// forgotten. Instants lie on a grid, so that sequences meet the same ones again.
import fc from 'fast-check'
import { slotKey } from '../../../src/job/schedule.ts'
import type { ScheduleSpec, ScheduleWrite, SlotWrite } from '../../../src/store/schedules.ts'
import { beat, type Call, call, type Detail, type Memory, pass, quarantine, sorted, take } from './store-calls.ts'
import { gridMs, keysOf, leaseMs } from './store-cast.ts'
import type { Step } from './store-steps.ts'
import type { Subject } from './store-subject.ts'

/** One by code, one made at run time whose slots hand over, one of the same lane as the first. */
const names = ['tick', 'hand', 'tock'] as const
const name = fc.constantFrom(...names, 'tick', 'hand')
const some = fc.uniqueArray(fc.constantFrom(...names, 'nobody'), { minLength: 1, maxLength: 3 })
const place = fc.integer({ min: 0, max: 6 })
const reasons = ['missed', 'paused', 'replaced', 'overlap', 'ended'] as const

const slot = fc.record({
  at: place,
  /** Instants that it stands for, beside its own. */
  more: fc.constantFrom(0, 0, 1, 3),
  state: fc.constantFrom('waiting', 'waiting', 'skipped', 'skipped', 'withdrawn'),
  reason: fc.constantFrom(...reasons),
  begins: fc.boolean(),
  lateMs: fc.constantFrom(0, 0, 700, 12_345.678),
})

const write = fc.record({
  name,
  /** Somebody else has written since it was read. */
  stale: fc.constantFrom(false, false, false, true),
  lastSlot: fc.option(place),
  slots: fc.uniqueArray(slot, { maxLength: 3, selector: ({ at }) => at }),
})

const step = (of: string, shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Step> =>
  fc.record(shape).map((detail) => ({ call: of, ...detail }))

const spec = {
  everyMs: fc.constantFrom(10_000, 20_000),
  missed: fc.constantFrom('once', 'once', 'all 3'),
  jitterMs: fc.constantFrom(0, 0, 500),
  input: fc.constantFrom('{"b":1,"a":[2]}', '{"a":[2],"b":1}', '{}'),
  endAt: fc.option(place, { freq: 3 }),
}

/** Who works after a long time: nobody, somebody who has the schedules, or for an hour already somebody who has not. */
const alive = fc.constantFrom('nobody', 'ours', 'ours', 'others')

/** What sequences do with schedules. */
export const scheduleSteps: readonly fc.Arbitrary<Step>[] = [
  step('schedules.declare', { names: some, ...spec }),
  step('schedules.write', {
    writes: fc.uniqueArray(write, { minLength: 1, maxLength: 2, selector: (each) => each.name }),
    audited: fc.boolean(),
  }),
  step('schedules.write', {
    writes: fc.uniqueArray(write, { minLength: 1, maxLength: 2, selector: (each) => each.name }),
    audited: fc.constant(false),
  }),
  step('schedules.page', { after: fc.option(name), limit: fc.integer({ min: 1, max: 3 }) }),
  step('schedules.turn', { everyMs: fc.constantFrom(0, 10_000, 333.3), name, version: fc.constantFrom(1, 2) }),
  step('schedules.rewind', { names: some }),
  step('schedules.finish', {
    name,
    places: fc.uniqueArray(place, { minLength: 1, maxLength: 3 }),
    skipped: fc.option(fc.constantFrom(...reasons)),
  }),
  step('slots taken', {
    name,
    at: place,
    holder: fc.constantFrom('h0', 'h1'),
    ends: fc.constantFrom('done', 'retrying', 'quarantined', null),
  }),
  step('slot runs', {
    name,
    at: place,
    holder: fc.constantFrom('h0', 'h1'),
    ends: fc.constantFrom('done', 'done', 'quarantined', null),
    /** An edit comes while it waits. */
    edited: fc.boolean(),
    ...spec,
  }),
  step('slots', { name, holder: fc.constantFrom('h0', 'h1') }),
  step('timetable.pause', { name }),
  step('timetable.resume', { name }),
  step('timetable.end', { name }),
  step('timetable.remove', { name }),
  step('schedules.hand', {
    name,
    at: place,
    intent: fc.option(fc.constantFrom(...(keysOf.mail ?? []))),
    holder: fc.constantFrom('h0', 'h1'),
  }),
  step('timetable.run', { name }),
  step('timetable', { name, limit: fc.integer({ min: 1, max: 3 }), job: fc.option(fc.constantFrom('tick', 'mail')) }),
  step('long after', { days: fc.constantFrom(0.1, 8, 31), alive }),
  step('long after', { days: fc.constantFrom(8, 31), alive }),
]

const instantOf = (at: number) => gridMs + at * 10_000

function specOf(of: string, { everyMs, missed, jitterMs, input, endAt }: Detail): ScheduleSpec {
  const hands = of === 'hand'
  return {
    ...{
      name: of,
      job: hands ? 'mail' : 'tick',
      lane: hands ? 'regrow.slots' : 'tick',
      cron: null,
      everyMs,
      tz: 'UTC',
    },
    ...{ startAtMs: null, endAtMs: endAt === null ? null : instantOf(endAt) + 0.4, missed, overlap: 'skip', jitterMs },
    ...{ key: null, input: hands ? input : null, declared: !hands },
  }
}

/** What is written of schedules that were just read: both stores are asked, and then told. */
async function written({ store }: Subject, { writes, audited }: Detail): Promise<unknown> {
  const asked = (writes as Detail[]).map((each) => each.name as string)
  const { rows } = await store.schedules.look(asked, leaseMs)
  const given = (writes as Detail[]).flatMap((each): ScheduleWrite[] => {
    const row = rows.find((found) => found.name === each.name)
    if (!row) return []
    const slots = disjoint(each.slots as Detail[]).map(
      ({ at, more, state, reason, begins, lateMs }): SlotWrite => ({
        ...{ schedule: row.name, slotMs: instantOf(at), version: row.version, lane: row.lane, state },
        ...{ key: slotKey(row.name, row.version, instantOf(at)), dueMs: instantOf(at) + lateMs },
        reason: state === 'skipped' ? reason : null,
        ...(state === 'skipped' && more > 0
          ? { throughMs: instantOf(at + more), count: more + 1 }
          : { throughMs: null, count: null }),
        begins: state === 'waiting' && begins,
      }),
    )
    const lastSlotMs = each.lastSlot === null ? null : instantOf(each.lastSlot)
    return [{ name: row.name, term: row.term - (each.stale ? 1 : 0), lastSlotMs, slots }]
  })
  if (given.length === 0) return rows
  return [...rows, await store.schedules.write(given, { audited })]
}

/** Of one write, no row stands for what another one of it tells. */
function disjoint(slots: readonly Detail[]): Detail[] {
  const inOrder = [...slots].sort((a, b) => a.at - b.at)
  return inOrder.map((each, i) => ({ ...each, more: Math.min(each.more, (inOrder[i + 1]?.at ?? 99) - each.at - 1) }))
}

const registers = (holder: string, job: string) =>
  call(`${holder} registers`, ({ store }) =>
    store.workers.register({ holder, host: 'host', pid: 1, jobs: { [job]: 'x' } }, leaseMs),
  )

const keyAt = (of: string, version: number, at: number) => slotKey(of, version, instantOf(at))
const versions = [1, 2, 3]
const named = (given: Step) => JSON.stringify(given)

/** How these steps become calls. */
export const scheduleResolvers: Readonly<Record<string, (step: Detail, memory: Memory) => Call | Call[]>> = {
  'schedules.declare': (given) =>
    call(named(given), async ({ store }) =>
      sorted(
        await store.schedules.declare(
          (given.names as string[]).filter((of) => of !== 'nobody').map((of) => specOf(of, given)),
        ),
      ),
    ),
  'schedules.write': (given) => call(named(given), (subject) => written(subject, given)),
  'schedules.page': (given) =>
    call(named(given), ({ store }) => store.schedules.page(given.after, given.limit, leaseMs)),
  'schedules.turn': (given) =>
    call(named(given), ({ store }) => store.schedules.turn(given.everyMs, new Map([[given.name, given.version]]))),
  'schedules.rewind': (given) =>
    call(named(given), async ({ store }) => [
      sorted(await store.schedules.upkeep.rewind(given.names)),
      await store.schedules.page(null, 5, leaseMs),
    ]),
  'schedules.finish': (given) => {
    const keys = (given.places as number[]).flatMap((at) => versions.map((version) => keyAt(given.name, version, at)))
    const skipped = given.skipped === null ? {} : { skipped: given.skipped }
    return call(named(given), ({ store }, inside) => store.schedules.finish(keys, { ...skipped, tx: inside?.tx }))
  },
  // By an intent that is recorded, or a row, and what becomes of it.
  'schedules.hand': ({ name: of, at, intent, holder }, memory) => [
    ...(intent === null
      ? []
      : [
          call(`record ${intent}`, ({ store }) =>
            store.intents.record('mail', [{ id: intent, input: '{}', inMs: 0, atMs: null, uniqueKey: null }]),
          ),
        ]),
    ...versions.map((version) =>
      call(`hand ${keyAt(of, version, at)} ${intent}`, ({ store }) =>
        store.schedules.hand(keyAt(of, version, at), {
          ...(intent === null ? { job: 'big', intent, key: '9' } : { job: 'mail', intent, key: null }),
        }),
      ),
    ),
    ...(intent === null ? [] : [quarantine(memory, { holder, job: 'mail', keys: [intent], version: null })]),
    call(`slots of ${of}`, ({ store }) => store.timetable.slots(of, 9)),
    ...(intent === null ? [] : [call(`drop ${intent}`, ({ store }) => store.quarantine.drop('mail', [intent], 'ann'))]),
    call(`${of} in the list`, async ({ store }) => (await store.timetable.find(of, leaseMs))?.handed ?? null),
  ],
  // All versions of a slot: whoever has the right one is recorded.
  'slots taken': ({ name: of, at, holder, ends }, memory) => {
    const job = of === 'hand' ? 'regrow.slots' : 'tick'
    const keys = versions.map((version) => keyAt(of, version, at))
    const taken = take(memory, { holder, job, keys, suspects: false })
    const outcome = { state: ends, version: null, failures: 1, crashes: 0, retryMs: 1_000, error: null }
    const rows = keys.map((key, i) => ({
      ...{ job, key, take: memory.takes - keys.length + 1 + i, ...outcome },
      finish: ends === 'done' ? ('slot' as const) : null,
    }))
    const settled = call(`settle ${named(rows as never)}`, ({ store }) => store.ledger.settle(holder, rows))
    return ends === null ? [taken] : [taken, settled]
  },
  'slot runs': ({ name: of, at, holder, ends, edited, ...edit }, memory) => {
    const slot = { at, more: 0, state: 'waiting', reason: 'missed', begins: false, lateMs: 0 }
    const writes = (begins: boolean) => [{ name: of, stale: false, lastSlot: null, slots: [{ ...slot, begins }] }]
    const waits = call(`${of} waits at ${at}`, (subject) => written(subject, { writes: writes(false), audited: false }))
    const begins = call(`${of} begins at ${at}`, (subject) => written(subject, { writes: writes(true), audited: true }))
    const seen = { call: 'slots', name: of, holder }
    const declared = { ...edit, call: 'schedules.declare', names: [of] }
    const steps = [edited ? declared : seen, { call: 'slots taken', name: of, at, holder, ends }, seen]
    const [between, ...after] = steps.map((each) => scheduleResolvers[each.call]?.(each, memory) ?? [])
    return [waits, ...[between ?? []].flat(), begins, ...after.flat()]
  },
  slots: ({ name: of, holder }, memory) => [
    call(`slots of ${of}`, async ({ store }) => [
      await store.schedules.look([of], leaseMs),
      await store.timetable.slots(of, 9),
    ]),
    ...(of === 'hand'
      ? []
      : [
          call(`page of tick for ${holder}`, async (subject) => {
            const source = subject.store.source(subject.slotsJob)
            const page = await source.page(null, 5, 30_000, 10_000)
            return [
              page,
              await source.check(versions.flatMap((version) => [0, 1, 2, 3].map((at) => keyAt(of, version, at)))),
            ]
          }),
        ]),
    pass(memory, 0),
  ],
  'timetable.pause': (given) =>
    call(named(given), ({ store }) => store.timetable.control.pause(given.name, 'why', 'ann')),
  'timetable.resume': (given) => call(named(given), ({ store }) => store.timetable.control.resume(given.name, 'bob')),
  'timetable.end': (given) =>
    call(named(given), async ({ store: { timetable } }) => [
      await timetable.control.end(given.name, 'ann'),
      await timetable.find(given.name, leaseMs),
    ]),
  'timetable.remove': (given) => call(named(given), ({ store }) => store.timetable.control.remove(given.name, 'ann')),
  'timetable.run': (given) => call(named(given), ({ store }) => store.timetable.control.run(given.name, 'ann')),
  timetable: (given) =>
    call(named(given), async ({ store: { timetable } }) => [
      await timetable.list({ job: given.job, after: null, limit: given.limit }, leaseMs),
      await timetable.find(given.name, leaseMs),
      await timetable.slots(given.name, given.limit),
    ]),
  'long after': ({ days, alive }, memory) => [
    pass(memory, days * 86_400_000),
    ...(alive === 'nobody' ? [] : [registers('h0', alive === 'ours' ? 'tick' : 'mail')]),
    ...(alive === 'others' ? [pass(memory, 3_600_000), beat(memory, 'h0', 'all', 0)] : []),
    call('schedules.tidy', async ({ store }) => {
      const { ended, forgotten } = await store.schedules.upkeep.tidy(leaseMs)
      return { ended: sorted(ended), forgotten }
    }),
  ],
}
