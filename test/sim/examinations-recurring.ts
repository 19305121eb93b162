// Schedules in calm weather: each instant starts in time, whatever was lost is made good within its bound, downtime is caught up as
// the policy says, and every instant of the whole history is accounted for. In the end all of them are ended.
import { operate } from '../../src/operate/index.ts'
import { within } from './examination.ts'
import { ownLane, recursIn, report, ticks } from './recurring.ts'
import type { ScheduleRow, SlotRow } from './store/schema.ts'
import type { SimWorld } from './world.ts'

/** An audit is made so often, at the latest. */
const auditMs = 11_500
/** From an instant to the begin of its slot, while nothing is wrong. */
const promptMs = 1_500

/** Schedules that somebody who lives makes slots of. */
function live({ db, fleet }: SimWorld): ScheduleRow[] {
  const recurs = fleet.working().some(({ jobs }) => recursIn(jobs))
  // Who waits for an earlier one whose input nobody works on waits for ever; for one that is tried again, for a while.
  const handed = new Set([...db.intents.values()].map(({ uniqueKey }) => uniqueKey))
  const waits = ({ name, lane, overlap, missed }: ScheduleRow) =>
    lane === ownLane &&
    ((overlap === 'queue' && !recurs) ||
      (handed.has(`schedule ${name}`) && (overlap === 'queue' || !recurs || missed.startsWith('all '))))
  return [...db.schedules.values()].filter(
    (row) => row.endedAt === null && row.pausedAt === null && (recurs || row.lane === ownLane) && !waits(row),
  )
}

/** When it was decided what becomes of a slot: it began, or what an earlier one had handed over was not done. */
const decidedAt = ({ begunAt, lane, reason, endedAt }: SlotRow): number | null =>
  begunAt ?? (lane === ownLane && reason === 'overlap' ? endedAt : null)

/** Several of its slots are due, and go one after the other: each begins a moment after what the one before handed over is done. */
const catchesUp = (world: SimWorld, { name, lane, overlap, missed }: ScheduleRow) =>
  lane === ownLane &&
  (overlap === 'queue' || missed.startsWith('all ')) &&
  world.timetable.slotsOf(name).filter(({ state, dueAt }) => state === 'waiting' && dueAt <= world.nowMs()).length > 1

const account = (world: SimWorld) => {
  // Where the queue has no room, hints wait for an audit.
  const { maxHints } = world.plan.bounds
  const names = new Set(maxHints === undefined ? live(world).map(({ name }) => name) : [])
  world.timetable.account(({ name }) => names.has(name), promptMs)
}

/** L7: each instant of the next seconds begins when it comes. */
async function punctual(world: SimWorld, what: string): Promise<void> {
  const { oracle, timetable, plan } = world
  if (plan.bounds.maxHints !== undefined) return
  const fromMs = world.nowMs()
  const before = new Set(live(world).map(({ name }) => name))
  await within(world, 6_500, () => false)
  for (const schedule of live(world).filter((row) => before.has(row.name) && !catchesUp(world, row))) {
    const lateMs = promptMs + schedule.jitterMs
    const { next } = timetable.patternOf(schedule)
    const toMs = world.nowMs() - lateMs
    const rows = new Map(timetable.slotsOf(schedule.name).map((row) => [row.slot, row]))
    for (let at = next(fromMs); at !== null && at <= toMs; at = next(at)) {
      const row = rows.get(at)
      const begun = (row && decidedAt(row)) ?? Number.POSITIVE_INFINITY
      const instant = new Date(at).toISOString()
      oracle.check(
        'L7',
        begun - at <= lateMs,
        () => `${what}: ${instant} of ${schedule.name} did not begin in time: ${JSON.stringify(row)}`,
      )
    }
  }
}

/** L7: a slot whose hint is lost, and nobody can know, begins after the next audit. */
async function lostHints(world: SimWorld): Promise<void> {
  const { oracle, server, timetable, plan, trace } = world
  if (!server || plan.bounds.maxHints !== undefined) return
  const waiting = live(world).flatMap(({ name }) =>
    timetable.slotsOf(name).filter(({ state, begunAt }) => state === 'waiting' && begunAt === null),
  )
  trace.tell('CALM', 'every hint is lost, and the mark stays')
  server.queue.lose(() => true)
  const soon = waiting.filter(({ dueAt }) => dueAt <= world.nowMs() + auditMs)
  const open = () =>
    soon.filter(({ schedule, slot }) => world.db.slots.get(`${schedule}\u0000${slot}`)?.state === 'waiting')
  const done = await within(world, auditMs + 4_000, () => open().length === 0)
  oracle.check('L7', done, () => `a slot whose hint was lost still waits after an audit: ${JSON.stringify(open()[0])}`)
}

/** L7: what somebody declared who died right after that is begun by the next audit. */
async function unmade(world: SimWorld): Promise<void> {
  const { oracle, db, timetable, plan, fleet } = world
  if (plan.bounds.maxHints !== undefined || fleet.working().length === 0) return
  const name = 'report.unmade'
  const spec = {
    name,
    job: report.name,
    lane: ownLane,
    cron: null,
    everyMs: 2_000,
    tz: 'UTC',
    startAtMs: null,
    endAtMs: null,
  }
  const rules = { missed: 'once', overlap: 'allow', jitterMs: 0, key: 'nobody', input: null, declared: false } as const
  await db.store().schedules.declare([{ ...spec, ...rules }])
  const begun = () => timetable.slotsOf(name).some(({ state }) => state === 'ran')
  const done = await within(world, auditMs + 5_000, begun)
  oracle.check('L7', done, () => `a schedule that was declared and nothing else has not run after an audit`)
}

/** Of what was missed at one time. */
const mostOf = (missed: string) => (missed.startsWith('all ') ? Number(missed.slice(4)) : 1)

/** L7: of what nobody could run, as much runs as `missed` says. */
async function downtime(world: SimWorld): Promise<void> {
  const { oracle, fleet, kernel, draw, timetable, trace } = world
  // What the dead were at would keep the others back until their lease is over.
  await within(world, 10_000, () => !isBusy(world))
  const working = fleet.working().filter(({ process }) => process.state === 'up')
  const rules = live(world).map(({ name, version, missed }) => ({ name, version, missed }))
  trace.tell('CALM', 'all workers are down')
  for (const member of working) fleet.crash(member, null)
  const downMs = world.nowMs()
  await kernel.run(() => false, draw.between(9_000, 14_000))
  const upMs = world.nowMs()
  for (const { jobs } of working) fleet.start(jobs)
  await within(world, 6_000, () => false)
  for (const before of rules) {
    const { name, version, missed, jitterMs } = world.db.schedules.get(before.name) as ScheduleRow
    // Who starts with other rules than were stored may begin a slot before it has declared them.
    const most = mostOf(missed) + (version === before.version ? 0 : mostOf(before.missed))
    // What came last may have been due only now: it was not missed.
    const passed = timetable.slotsOf(name).filter(({ slot }) => slot > downMs && slot <= upMs - jitterMs)
    const begun = passed.filter(({ begunAt }) => begunAt !== null)
    oracle.check(
      'L7',
      begun.length <= most,
      () => `of what ${name} missed in ${upMs - downMs} ms ${begun.length} ran, with missed: ${missed}`,
    )
  }
}

/** All of it, where something recurs. */
export async function examineRecurring(world: SimWorld): Promise<void> {
  const { plan, oracle, draw, user, db, kernel } = world
  if (!plan.recurring) return
  const broken = () => oracle.violations.length > 0
  const tries = [punctual, draw.of([lostHints, unmade, downtime])]
  for (const examine of tries) {
    account(world)
    if (broken()) return
    await examine(world, 'after the storm')
    if (broken()) return
  }
  account(world)
  if (!broken() && tries.includes(downtime)) await punctual(world, 'after downtime')
  if (broken()) return
  let left = db.schedules.size
  for (const { name, endedAt } of db.schedules.values())
    if (endedAt !== null) left--
    else void user.operate((app) => operate(app).schedules.end(name)).then(() => left--)
  await within(world, 10_000, () => left === 0)
  // What has begun ends.
  await kernel.run(() => broken() || !isBusy(world), 20_000)
  account(world)
}

/** L10: schedules whose tables were emptied, last of all, are declared again by the workers that have them in their code. */
export async function emptied(world: SimWorld): Promise<void> {
  const { plan, oracle, db, fleet, tally, trace } = world
  if (!plan.recurring || !db.empty || !fleet.working().some(({ jobs }) => recursIn(jobs))) return
  trace.tell('CALM', 'the tables of schedules are emptied')
  tally.fault('table emptied')
  for (const table of ['slots', 'schedules'] as const) db.empty(table)
  const missing = () => ticks.filter(({ name }) => db.schedules.get(name)?.endedAt !== null)
  const declared = await within(world, auditMs + 4_000, () => missing().length === 0)
  oracle.check('L10', declared, () => `after an audit the store does not hold the schedule ${missing()[0]?.name}`)
}

/** A slot runs, or is about to. */
const isBusy = ({ db }: SimWorld) =>
  [...db.ledger.values()].some(
    ({ job, holder }) => holder !== null && (job === ownLane || ticks.some(({ name }) => name === job)),
  )
