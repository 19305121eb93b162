// What becomes of the instants of one schedule. In: its row with its open slots, its pattern, and the store's time. Out: slots to
// write, and whether one that wants to begin may. Pure; what follows is written only if nobody wrote meanwhile.
import { slotKey } from '../job/schedule.ts'
import type { OpenSlot, ScheduleRow, ScheduleWrite, SkipReason, SlotWrite } from '../store/schedules.ts'
import type { Pattern } from './pattern.ts'

/** `later`: an earlier slot is still running. `gone`: it is no slot to start, or not any more. */
export type Verdict = 'begins' | 'skipped' | 'later' | 'gone'

export interface Plan {
  /** Null: nothing is to be written. */
  readonly write: ScheduleWrite | null
  /** Of the slot that wants to begin. */
  readonly verdict: Verdict
}

export interface PlanPorts {
  readonly pattern: Pattern
  readonly atMs: number
  /** From 0 to 1, for the jitter. */
  readonly chance: () => number
}

/** Under `missed: 'skip'` a slot may start so late: a restart is no reason to lose it. */
const graceMs = 60_000
/** Instants that are skipped together are counted up to here; beyond, their row only tells from when to when. */
const countMax = 1_000

/**
 * The slots that a schedule should have now: what an edit held is kept where its instant is still in the pattern, instants that
 * passed are caught up as `missed` says, and there is one that waits for the future.
 */
export function keep(row: ScheduleRow, ports: PlanPorts, reason: SkipReason = 'missed'): ScheduleWrite | null {
  const baseMs = Math.max(row.lastSlotMs ?? Number.NEGATIVE_INFINITY, row.fromMs, ...begunOf(row, ports))
  const judged = row.open.filter(({ held }) => held).map((slot) => judge(row, slot, ports, baseMs))
  const kept = judged.filter(({ state }) => state === 'waiting')
  const waits = kept.length > 0 || ofPattern(row, ports).some(({ held, begunMs }) => !held && begunMs === null)
  // A schedule that nobody has makes no new slots: who has it again catches up.
  if (waits || row.paused || !row.live) return judged.length > 0 ? written(row, null, judged) : null
  const { slots, accountedMs } = caughtUp(row, ports, baseMs, null, reason)
  const all = unique([...judged, ...slots])
  return all.length > 0 ? written(row, accountedMs, all) : null
}

/**
 * The same when a slot is about to start: it begins, is skipped, or waits; the next one is made before that. `idle`: keys whose
 * claims are known to run nothing, since they ask together with this one; waiting for each other they would wait for ever.
 */
export function begin(row: ScheduleRow, key: string, ports: PlanPorts, idle: ReadonlySet<string> = new Set()): Plan {
  const slot = row.open.find((each) => each.key === key && !each.held)
  // While the job is paused nothing is handed over: the audit hints the slot again when it is not.
  if (!slot || row.paused || row.jobPaused) return { write: null, verdict: 'gone' }
  // Slots that catch up begin in the order of their instants, whichever hint is popped first.
  if (slot.begunMs === null && earlierWaits(row, slot, ports)) return { write: null, verdict: 'later' }
  const baseMs = Math.max(slot.slotMs, row.lastSlotMs ?? slot.slotMs)
  const busy =
    row.overlap === 'allow'
      ? undefined
      : (row.open.find((each) => each.key !== key && each.standing === 'claimed' && !idle.has(each.key)) ??
        handedOver(row, slot))
  if (busy) {
    // One that came due while the other was running was overlapped; one that was there before only waits for its turn.
    if (row.overlap !== 'skip' || slot.begunMs !== null || slot.dueMs <= (busy.begunMs ?? 0))
      return { write: null, verdict: 'later' }
    if (!ports.pattern.includes(slot.slotMs))
      return { write: written(row, null, [skip(row, slot.slotMs, 'overlap')]), verdict: 'skipped' }
    if (laterWaits(row, slot, ports))
      return { write: written(row, slot.slotMs, [skip(row, slot.slotMs, 'overlap')]), verdict: 'skipped' }
    const after = caughtUp(row, ports, baseMs, null, 'missed', drawn(row, slot))
    const slots = [skip(row, slot.slotMs, 'overlap'), ...after.slots]
    return { write: written(row, Math.max(slot.slotMs, after.accountedMs ?? 0), slots), verdict: 'skipped' }
  }
  if (slot.begunMs !== null) return { write: keep(row, ports), verdict: 'begins' }
  // A run beside the pattern accounts for no instant of it: what is overdue is caught up by the slots of the pattern.
  if (!ports.pattern.includes(slot.slotMs))
    return { write: written(row, null, [starting(row, slot)]), verdict: 'begins' }
  // This one only begins.
  if (laterWaits(row, slot, ports))
    return { write: written(row, slot.slotMs, [starting(row, slot)]), verdict: 'begins' }
  const { slots, accountedMs, runs } = caughtUp(row, ports, baseMs, slot, 'missed', drawn(row, slot))
  return { write: written(row, accountedMs, slots), verdict: runs ? 'begins' : 'skipped' }
}

/** What an earlier slot handed over is not done. One that has begun may have handed over itself, and looks again when it does. */
const handedOver = ({ handedMs }: ScheduleRow, { begunMs }: OpenSlot) =>
  handedMs !== null && begunMs === null ? { begunMs: handedMs } : undefined

interface CaughtUp {
  readonly slots: SlotWrite[]
  /** Up to here every instant begins or is skipped; null: nothing was. */
  readonly accountedMs: number | null
  /** The slot that wants to begin does. */
  readonly runs: boolean
}

/**
 * Instants after `baseMs` that have come, and before them `own`, which wants to begin: which of them run, which are skipped, and
 * where all of them are accounted for, the next one. `laterMs`: a slot that starts so long after its instant on purpose is not late
 * for that, and what came meanwhile was not missed: it has a jitter of its own.
 */
function caughtUp(
  row: ScheduleRow,
  ports: PlanPorts,
  baseMs: number,
  own: OpenSlot | null,
  reason: SkipReason,
  laterMs = 0,
): CaughtUp {
  const { pattern, atMs } = ports
  const comeMs = atMs - laterMs
  const most = reason === 'missed' ? runsOf(row.missed) : 0
  const found = pattern.between(baseMs, comeMs, countMax, most + 1)
  const come = [...(own && found.newest.length <= most ? [own.slotMs] : []), ...found.newest]
  const inTime = row.missed !== 'skip' || comeMs - (come.at(-1) ?? comeMs) <= graceMs
  const runs = come.slice(come.length - Math.min(come.length, inTime ? most : 0))
  const skippedCount = found.more ? null : found.count + (own ? 1 : 0) - runs.length
  const slots: SlotWrite[] = []
  let accountedMs: number | null = null
  if (skippedCount !== 0) {
    const first = own ? own.slotMs : (pattern.next(baseMs) as number)
    const last = come[come.length - runs.length - 1] ?? first
    slots.push(skip(row, first, reason, last > first ? { throughMs: last, count: skippedCount } : undefined))
    accountedMs = last
  }
  const ownRuns = own !== null && runs.includes(own.slotMs)
  for (const slotMs of runs)
    slots.push(own && slotMs === own.slotMs ? starting(row, own) : waiting(row, slotMs, Math.max(atMs, slotMs)))
  if (ownRuns) accountedMs = own.slotMs
  // What waits to catch up makes the next one when it begins.
  if (runs.length === (ownRuns ? 1 : 0)) {
    const nextMs = pattern.next(Math.max(comeMs, baseMs))
    const jitteredMs = (nextMs ?? 0) + Math.floor(ports.chance() * row.jitterMs)
    if (nextMs !== null) slots.push(waiting(row, nextMs, Math.max(atMs, jitteredMs)))
  }
  return { slots, accountedMs, runs: ownRuns }
}

/** The jitter that a slot has drawn, or could have: one that catches up is due when somebody found it, however late. */
const drawn = ({ jitterMs }: ScheduleRow, { slotMs, dueMs }: OpenSlot) =>
  Math.min(jitterMs, Math.max(0, dueMs - slotMs))

/** How many of the instants that were missed run. */
const runsOf = (missed: string) => (missed.startsWith('all ') ? Number(missed.slice(4)) : 1)

/**
 * A slot that an edit held: it waits on under the new version, comes later where others come before it now, or is replaced.
 * `baseMs`: up to here all is accounted for. What came since the edit is caught up first, however late somebody looks.
 */
function judge(row: ScheduleRow, slot: OpenSlot, { pattern }: PlanPorts, baseMs: number): SlotWrite {
  const { slotMs } = slot
  const fits = pattern.includes(slotMs)
  if (fits && slotMs > baseMs && pattern.next(baseMs) !== slotMs)
    return { ...skip(row, slotMs, 'replaced'), state: 'withdrawn', reason: null }
  if (fits) return waiting(row, slotMs, Math.min(slot.dueMs, slotMs + row.jitterMs))
  // The old pattern is gone: what it had between this slot and the edit, or the next one of it, is told by its span alone.
  const nextMs = Math.min(...row.open.flatMap((each) => (each.slotMs > slotMs ? [each.slotMs - 1] : [])))
  const throughMs = Math.min(Math.floor(row.fromMs), nextMs)
  // Beside the pattern, it may stand before what is accounted for.
  const isLast = slotMs > (row.lastSlotMs ?? Number.NEGATIVE_INFINITY)
  const range = isLast && throughMs > slotMs ? { throughMs, count: null } : undefined
  return skip(row, slotMs, 'replaced', range)
}

/** Open slots without those that a person made beside the pattern. */
const ofPattern = ({ open }: ScheduleRow, { pattern }: PlanPorts) =>
  open.filter(({ slotMs }) => pattern.includes(slotMs))

/** Later slots wait already, as after { all: n }: what comes after this one is accounted for by them. */
const laterWaits = (row: ScheduleRow, slot: OpenSlot, ports: PlanPorts) =>
  ofPattern(row, ports).some(({ slotMs, begunMs }) => slotMs > slot.slotMs && begunMs === null)

/** Earlier slots of the pattern are due and have not begun. */
const earlierWaits = (row: ScheduleRow, slot: OpenSlot, ports: PlanPorts) =>
  ports.pattern.includes(slot.slotMs) &&
  ofPattern(row, ports).some(({ slotMs, begunMs, held }) => slotMs < slot.slotMs && begunMs === null && !held)

const begunOf = (row: ScheduleRow, ports: PlanPorts) =>
  // One of a time that has not come, by a clock that is set back since, accounts for nothing before it.
  ofPattern(row, ports).flatMap(({ begunMs, slotMs }) => (begunMs === null || row.ran.includes(slotMs) ? [] : [slotMs]))

const written = (row: ScheduleRow, lastSlotMs: number | null, slots: readonly SlotWrite[]): ScheduleWrite => ({
  name: row.name,
  term: row.term,
  lastSlotMs,
  slots,
})

/** An instant that an edit replaced may be the one that is made next: made, it is not replaced. */
const unique = (slots: readonly SlotWrite[]): SlotWrite[] => [
  ...new Map(slots.map((slot) => [slot.slotMs, slot])).values(),
]

const slotOf = (row: ScheduleRow, slotMs: number, dueMs: number) => ({
  schedule: row.name,
  slotMs,
  version: row.version,
  lane: row.lane,
  key: slotKey(row.name, row.version, slotMs),
  dueMs,
  reason: null,
  throughMs: null,
  count: null,
  begins: false,
})

const waiting = (row: ScheduleRow, slotMs: number, dueMs: number): SlotWrite => ({
  ...slotOf(row, slotMs, dueMs),
  state: 'waiting',
})

/** It keeps its key: its hint, its claim and its history go by it. */
const starting = (row: ScheduleRow, { slotMs, dueMs, key }: OpenSlot): SlotWrite => ({
  ...waiting(row, slotMs, dueMs),
  key,
  begins: true,
})

const skip = (
  row: ScheduleRow,
  slotMs: number,
  reason: SkipReason,
  range: Pick<SlotWrite, 'throughMs' | 'count'> = { throughMs: null, count: null },
): SlotWrite => ({ ...slotOf(row, slotMs, slotMs), state: 'skipped', reason, ...range })
