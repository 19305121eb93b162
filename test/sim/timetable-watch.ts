// What the oracle looks at in schedules and slots: that no instant is recorded twice or started when it must not be (S9), and in
// the end, that every instant ran, was skipped, or is still to come (L7). It reads rows and patterns, never what the core thinks.
import { type Slot, slotCodec } from '../../src/job/schedule.ts'
import { type Pattern, pattern } from '../../src/schedule/pattern.ts'
import type { Part } from './cast.ts'
import type { Oracle } from './oracle.ts'
import { handed, ownLane, report } from './recurring.ts'
import type { SimProcess } from './sim-process.ts'
import type { Change } from './store/engine.ts'
import type { IntentRow, ScheduleRow, SlotRow } from './store/schema.ts'
import type { FaultName, Tally } from './tally.ts'
import type { Truth } from './truth.ts'

export interface TimetableSurroundings {
  readonly oracle: Oracle
  readonly tally: Tally
  readonly db: Truth
  /** The store's clock, in epoch ms. */
  readonly nowMs: () => number
  /** True when the store crashed in this history: a begin is asynchronous, and may be gone with it. */
  readonly crashed: () => boolean
}

/** A schedule from one edit to the next. */
interface Era {
  readonly spec: ScheduleRow
  readonly fromMs: number
  /** Up to here its instants have rows when it ends: those after it were still to come, or nobody was there to make them. */
  toMs: number | null
}

export class TimetableWatch {
  readonly #around: TimetableSurroundings
  readonly #eras = new Map<string, Era[]>()
  /** By schedule, its row before the last change. */
  readonly #previous = new Map<string, ScheduleRow | undefined>()
  /** Slots that a person made. */
  readonly #byHand = new Set<string>()
  /** By key, what was said of overlaps when the slot began. */
  readonly #overlaps = new Map<string, ScheduleRow['overlap']>()
  readonly #intents = new Set<string>()
  /** Inputs that were handed over. */
  handedOver = 0

  constructor(around: TimetableSurroundings) {
    this.#around = around
  }

  readonly committed = (change: Change): void => {
    const { table, id, before, after, statement } = change
    if (table === 'schedules')
      this.#schedule(id, before as ScheduleRow | undefined, after as ScheduleRow | undefined, statement)
    else if (table === 'slots') this.#slot(before as SlotRow | undefined, after as SlotRow | undefined, statement)
    else if (table === 'intents' && after && !before && statement !== 'restart') this.#intent(after as IntentRow)
  }

  /** Slots of a schedule, in their order. */
  slotsOf(name: string): SlotRow[] {
    return [...this.#around.db.slots.values()]
      .filter(({ schedule }) => schedule === name)
      .sort((a, b) => a.slot - b.slot)
  }

  patternOf(row: ScheduleRow): Pattern {
    const { cron, everyMs, tz, startAt, endAt } = row
    return pattern({ cron, everyMs, tz, startAtMs: startAt, endAtMs: endAt })
  }

  /** What the check of a slot must find. */
  isPending(lane: string, key: string): boolean {
    const { db, nowMs } = this.#around
    const slot = [...db.slots.values()].find((each) => each.lane === lane && each.key === key)
    const schedule = slot && db.schedules.get(slot.schedule)
    if (!slot || !schedule) return false
    const stands = schedule.pausedAt === null && schedule.endedAt === null
    return slot.state === 'waiting' && slot.dueAt <= nowMs() && stands
  }

  #schedule(name: string, before: ScheduleRow | undefined, after: ScheduleRow | undefined, statement: string): void {
    const { oracle, tally } = this.#around
    this.#previous.set(name, before)
    if (!after) return
    const eras = this.#eras.get(name) ?? []
    this.#eras.set(name, eras)
    const last = eras.at(-1)
    const close = () => {
      if (last?.toMs === null) last.toMs = Math.min(this.#newest(this.slotsOf(name)), this.#around.nowMs())
    }
    if (before && statement !== 'restart')
      oracle.check(
        'S9',
        (after.lastSlot ?? 0) >= (before.lastSlot ?? 0) && after.version >= before.version,
        () => `last_slot or the version of ${name} goes back: ${JSON.stringify([before, after])}`,
      )
    if (after.endedAt !== null && before?.endedAt === null) close()
    if (!before || after.fromAt !== before.fromAt) {
      close()
      eras.push({ spec: after, fromMs: after.fromAt, toMs: null })
      if (before && after.version > before.version) tally.fault('schedule edited by a deploy')
    }
  }

  #slot(before: SlotRow | undefined, after: SlotRow | undefined, statement: string): void {
    const { oracle, tally, db } = this.#around
    if (statement === 'restart') return
    if (!after) {
      // Withdrawn by an edit, told of by a row that stands for many, or lost with its table.
      const may = statement === 'empty slots' || (before?.begunAt === null && (isOpen(before) || mayComeBack(before)))
      oracle.check('S9', may, () => `a slot is gone: ${JSON.stringify(before)}`)
      return
    }
    const which = () => `slot ${after.key} (${statement})`
    const ended = before?.state === 'ran' || (before?.state === 'skipped' && !mayComeBack(before))
    if (before) oracle.check('S9', !ended, () => `${which()} was ${before.state} and is ${after.state}`)
    if (statement === 'timetable.run') this.#byHand.add(`${after.schedule} ${after.slot}`)
    const known = this.#previous.get(after.schedule)?.lastSlot ?? null
    // Of a write, which raises the term, the row before it is what it was decided on.
    if (!before && statement === 'schedules.write' && known !== null)
      oracle.check('S9', after.slot > known, () => `${which()} is made, at or before last_slot ${iso(known)}`)
    // Whose input is merged into an earlier one, or whose schedule has just ended, finds out when it hands over.
    const merged = after.lane === ownLane && (statement === 'transaction' || statement === 'schedules.finish')
    if (after.state === 'skipped' && before?.state !== 'skipped' && !merged) {
      oracle.check(
        'S9',
        (before?.begunAt ?? null) === null,
        () => `${which()} has begun and is skipped: ${after.reason}`,
      )
      const word: FaultName | undefined = skips[after.reason ?? '']
      if (word) tally.fault(word)
    }
    if (after.begunAt === null || (before?.begunAt ?? null) !== null) return
    const schedule = db.schedules.get(after.schedule) as ScheduleRow
    oracle.check(
      'S9',
      after.version === schedule.version && versionOf(after.key) === after.version,
      () => `${which()} begins, of version ${after.version}, and its schedule is at ${schedule.version}`,
    )
    const byHand = (slot: number) => this.#byHand.has(`${after.schedule} ${slot}`)
    this.#overlaps.set(after.key, schedule.overlap)
    const earlier = this.slotsOf(after.schedule).find(
      ({ slot, state, begunAt }) => slot < after.slot && state === 'waiting' && begunAt === null && !byHand(slot),
    )
    oracle.check('S9', !earlier || byHand(after.slot), () => `${which()} begins before ${earlier?.key}`)
    const fits = this.#byHand.has(`${after.schedule} ${after.slot}`) || this.patternOf(schedule).includes(after.slot)
    oracle.check('S9', fits, () => `${which()} begins, and is no instant of its schedule`)
  }

  #intent({ id, job }: IntentRow): void {
    if (job !== report.name) return
    this.#around.oracle.check('S9', !this.#intents.has(id), () => `an input is handed over twice: ${id}`)
    this.#intents.add(id)
    this.handedOver++
  }

  /** Looks at the start of a slot's handler. */
  started(process: SimProcess, part: Part, key: string): void {
    if (!part.recurs || part === report) return
    const { oracle, db, crashed } = this.#around
    const which = () => `${process.name} starts ${key}`
    const { schedule, at } = slotCodec.decode(key) as Slot
    const row = db.slots.get(`${schedule}\u0000${at.getTime()}`)
    if (crashed()) return
    oracle.check(
      'S9',
      row?.key === key && row.state === 'waiting' && row.begunAt !== null,
      () => `${which()}, and its row says ${JSON.stringify(row)}`,
    )
    const spec = db.schedules.get(schedule) as ScheduleRow
    // The next one is there before the handler of this one starts: timing never waits for a sweep.
    const later = this.slotsOf(schedule).some(({ slot }) => slot > at.getTime())
    // One that a person made beside the pattern leaves that to the pattern's own.
    if (!this.#byHand.has(`${schedule} ${at.getTime()}`))
      oracle.check('L7', later, () => `${which()}, and no later slot has been made`)
    // Decided when it began: a deploy may have changed the overlap since.
    const overlap = this.#overlaps.get(key) ?? spec.overlap
    if (overlap === 'allow') return
    for (const [other, keys] of oracle.running)
      for (const id of keys.keys()) {
        const [job, beside] = id.split('\u0000') as [string, string]
        if (job !== part.name || beside === key || other.state === 'dead') continue
        const held = oracle.holds(other, job, beside, db.ledger.get(id))
        oracle.check('S9', !held, () => `${which()} beside ${beside}, and overlap is ${overlap}`)
      }
  }

  /** Every instant so far: which rows tell of it. `boundMs`: where somebody makes slots, how long ago it may be. */
  account(isLive: (schedule: ScheduleRow) => boolean, boundMs: number): void {
    for (const { name, schedule, rows, eras } of this.#ledgers()) {
      for (const era of eras) this.#accountEra(name, era, this.#endOf(era, schedule, rows, isLive, boundMs), rows)
      this.#accountOpen(schedule, rows)
    }
    this.#accountHanded()
  }

  /** Instants that no row tells of yet, of all schedules. */
  missing(boundMs: number): number {
    return this.#ledgers()
      .flatMap(({ schedule, rows, eras }) =>
        eras.map((era) => {
          const toMs = this.#endOf(era, schedule, rows, () => true, boundMs)
          return this.#instants(era, toMs).filter((at) => tellingOf(rows, at).length === 0).length
        }),
      )
      .reduce((sum, count) => sum + count, 0)
  }

  #ledgers() {
    const { db } = this.#around
    return [...this.#eras].map(([name, eras]) => {
      const schedule = db.schedules.get(name) as ScheduleRow
      return { name, eras, schedule, rows: this.slotsOf(name) }
    })
  }

  /** Up to where the instants of an era have rows. */
  #endOf(
    { toMs }: Era,
    schedule: ScheduleRow,
    rows: readonly SlotRow[],
    isLive: (schedule: ScheduleRow) => boolean,
    boundMs: number,
  ): number {
    if (toMs !== null) return toMs
    const nowMs = this.#around.nowMs()
    if (schedule.pausedAt === null && schedule.endedAt === null && isLive(schedule)) return nowMs - boundMs
    return Math.min(nowMs, this.#newest(rows))
  }

  /** The last instant that rows tell of; what a person made beside the pattern tells of none. */
  #newest(rows: readonly SlotRow[]): number {
    const own = rows.filter(({ schedule, slot }) => !this.#byHand.has(`${schedule} ${slot}`))
    return Math.max(...own.map(({ slot, through }) => through ?? slot), 0)
  }

  #instants({ spec, fromMs }: Era, toMs: number): number[] {
    const { next } = this.patternOf(spec)
    const found: number[] = []
    for (let at = next(fromMs); at !== null && at <= toMs; at = next(at)) found.push(at)
    return found
  }

  #accountEra(name: string, era: Era, toMs: number, rows: readonly SlotRow[]): void {
    const { oracle } = this.#around
    const { spec } = era
    const { between } = this.patternOf(spec)
    for (const at of this.#instants(era, toMs)) {
      const told = tellingOf(rows, at)
      const which = () => `${iso(at)} of ${name}, version ${spec.version}`
      oracle.check('L7', told.length > 0, () => `no row tells of ${which()}: ${rowsAround(rows, at)}`)
      oracle.check('S9', told.length < 2, () => `two rows tell of ${which()}: ${JSON.stringify(told)}`)
    }
    for (const { slot, through, count, version } of rows)
      if (through !== null && count !== null && version === spec.version && this.patternOf(spec).includes(slot)) {
        const many = 1 + between(slot, through, 10_000, 0).count
        oracle.check(
          'L7',
          many === count,
          () => `${name} tells of ${count} instants from ${iso(slot)} to ${iso(through)}, there are ${many}`,
        )
      }
  }

  /** Beside what failed for good, no more waits than what is missed at most, and one that is to come. */
  #accountOpen({ name, missed, endedAt }: ScheduleRow, rows: readonly SlotRow[]): void {
    const { oracle } = this.#around
    const open = rows.filter((row) => isOpen(row) && row.begunAt === null)
    const hand = open.filter(({ slot }) => this.#byHand.has(`${name} ${slot}`)).length
    const most = endedAt === null ? (missed.startsWith('all ') ? Number(missed.slice(4)) : 1) + 1 : 0
    oracle.check(
      'L7',
      open.length - hand <= most,
      () => `${open.length} slots of ${name} wait: ${JSON.stringify(open)}`,
    )
  }

  /** Each slot that handed over has recorded one intent. */
  #accountHanded(): void {
    const { oracle } = this.#around
    const ran = this.slotsOf(handed).filter(({ state, lane }) => state === 'ran' && lane === ownLane).length
    oracle.check(
      'S9',
      ran === this.handedOver,
      () => `${ran} slots have handed over, and there were ${this.handedOver} intents`,
    )
  }
}

const skips: Readonly<Record<string, FaultName>> = {
  missed: 'slot skipped: missed',
  overlap: 'slot skipped: overlap',
  paused: 'slot skipped: paused',
  replaced: 'slot skipped: replaced',
}

/** The rows that stand for an instant. */
const tellingOf = (rows: readonly SlotRow[], at: number) =>
  rows.filter(({ slot, through }) => slot <= at && at <= (through ?? slot))
/** It was skipped before its instant was accounted for, and never ran. */
const mayComeBack = ({ reason }: SlotRow): boolean =>
  reason !== null && ['replaced', 'ended', 'paused'].includes(reason)
const isOpen = ({ state }: SlotRow) => state === 'waiting' || state === 'held'
const iso = (ms: number) => new Date(ms).toISOString()
const versionOf = (key: string) => (slotCodec.decode(key) as Slot).version

/** The rows around an instant. */
const rowsAround = (rows: readonly SlotRow[], at: number) =>
  rows
    .filter(({ slot }) => Math.abs(slot - at) < 15_000)
    .map(
      ({ slot, state, reason, through }) =>
        `${iso(slot).slice(14, 23)} ${state} ${reason ?? ''} ${through ? iso(through).slice(14, 23) : ''}`,
    )
    .join(', ')
