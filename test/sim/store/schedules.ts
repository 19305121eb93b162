// Schedules and their slots in the model: each verb as its .sql file says it.
import type {
  OpenSlot,
  ScheduleRow as Schedule,
  ScheduleSpec,
  Schedules,
  ScheduleWrite,
} from '../../../src/store/schedules.ts'
import { sessionOf } from './app-tx.ts'
import { uniqueId } from './intents.ts'
import { jsonbText } from './jsonb.ts'
import { byBytes } from './order.ts'
import {
  ledgerId,
  notHanded,
  onePulse,
  type ScheduleRow,
  type Schema,
  type SlotRow,
  slotId,
  type WorkerRow,
} from './schema.ts'
import type { Session, Statement } from './session.ts'
import { plus, since } from './time.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** As in the SQL store: schedules that are looked at, and slots that are forgotten, in one go. */
const tidyMax = { schedules: 1_000, slots: 5_000 }

/** Instants travel as texts of whole milliseconds. */
const told = (ms: number | null) => (ms === null ? null : Math.trunc(ms))

export const isOpen = ({ state }: SlotRow): boolean => state === 'waiting' || state === 'held'
/** Open, and its handler has not begun. */
export const isAhead = (slot: SlotRow): boolean => isOpen(slot) && slot.begunAt === null

/** The schedules port. */
export function simSchedules(schema: Schema): Schedules {
  const { engine, schedules, slots, pulse } = schema
  const look = (rows: readonly ScheduleRow[], leaseMs: number) => {
    const atMs = schema.now()
    const live = liveJobs(schema, leaseMs)
    return { atMs, rows: rows.map((row) => describe(schema, row, live)) }
  }
  const standing = () => [...schedules.rows.values()].filter(({ endedAt }) => endedAt === null).sort(byName)
  return {
    declare: (specs, tx) =>
      engine.run('schedules.declare', tx && sessionOf(tx), (session) => declare(schema, session, specs)),
    hand: (key, { job, intent, key: row }, tx) =>
      engine.run('schedules.hand', tx && sessionOf(tx), function* (session) {
        for (const { schedule, slot } of [...slots.found(schema.slotsByKey, key)].filter(isOpen)) {
          const held = yield* session.hold(slots, slotId(schedule, slot), isOpen)
          if (held)
            session.set(slots, slotId(schedule, slot), {
              ...held,
              handedJob: job,
              handedIntent: intent,
              handedKey: row,
            })
        }
      }),
    look: async (names, leaseMs) =>
      look(
        standing().filter(({ name }) => names.includes(name)),
        leaseMs,
      ),
    page: async (after, limit, leaseMs) =>
      look(
        standing()
          .filter(({ name }) => byBytes(name, after ?? '') > 0)
          .slice(0, limit),
        leaseMs,
      ),
    write: (writes, { audited = false } = {}) =>
      engine.autocommit('schedules.write', (session) => write(schema, session, writes, audited), {
        quick: !writes.some((each) => each.slots.some(({ begins }) => begins)),
      }),
    turn: (everyMs, declared = new Map()) =>
      engine.atOnce(
        'schedules.turn',
        (session) => {
          const at = schema.now()
          const row = pulse.rows.get(onePulse)
          const missing = [...declared].some(([name, version]) => {
            const found = schedules.rows.get(name)
            return !found || found.version < version || found.endReason === 'absent'
          })
          // Of a clock that is set back since.
          const isAhead = row && row.auditAt > plus(at, Math.max(3 * everyMs, 60_000))
          if (!row) return { waitMs: 1_000, missing }
          if (row.auditAt > at && !isAhead) return { waitMs: Math.max(1, since(row.auditAt, at)), missing }
          session.set(pulse, onePulse, { ...row, auditAt: plus(at, everyMs) })
          return { waitMs: 0, missing }
        },
        { quick: true },
      ),
    upkeep: {
      rewind: (names) => engine.autocommit('schedules.rewind', (session) => rewind(schema, session, names)),
      tidy: (leaseMs) => engine.atOnce('schedules.tidy', (session) => tidy(schema, session, leaseMs)),
    },
    finish: (keys, { tx, skipped = null } = {}) =>
      engine.run('schedules.finish', tx && sessionOf(tx), function* (session) {
        const at = schema.now()
        const found = keys.flatMap((key) => [...slots.found(schema.slotsByKey, key)].filter(isOpen))
        for (const { schedule, slot } of found.sort(bySlot)) {
          const held = yield* session.hold(slots, slotId(schedule, slot), isOpen)
          if (!held) continue
          const state = skipped === null ? 'ran' : 'skipped'
          session.set(slots, slotId(schedule, slot), { ...held, state, reason: skipped, endedAt: at })
        }
      }),
  }
}

const byName = (a: ScheduleRow, b: ScheduleRow) => byBytes(a.name, b.name)
const bySlot = (a: SlotRow, b: SlotRow) => byBytes(a.schedule, b.schedule) || a.slot - b.slot

/** Jobs of workers that beat. */
export function liveJobs({ workers, now }: Schema, leaseMs: number): ReadonlySet<string> {
  const beats = (row: WorkerRow) => row.beatAt > plus(now(), -(row.leaseMs ?? leaseMs))
  return new Set([...workers.rows.values()].flatMap((row) => (beats(row) ? Object.keys(row.jobs) : [])))
}

/** Handing over needs no handler of the job: any worker does it. */
export const isLive = ({ lane, job }: ScheduleRow, live: ReadonlySet<string>): boolean =>
  lane === job ? live.has(lane) : live.size > 0

function describe(schema: Schema, row: ScheduleRow, live: ReadonlySet<string>): Schedule {
  const { startAt, endAt, fromAt, lastSlot, pausedAt } = row
  const { name, job, lane, cron, everyMs, tz, missed, overlap, jitterMs, key, input, declared, version, term } = row
  const open = schema.slots.found(schema.slotsOpen, name)
  return {
    ...{ name, job, lane, cron, everyMs, tz, missed, overlap, jitterMs, key, input, declared, version, term },
    startAtMs: startAt,
    endAtMs: endAt,
    fromMs: fromAt,
    lastSlotMs: lastSlot === null ? null : Math.round(lastSlot),
    paused: pausedAt !== null,
    jobPaused: lane !== job && schema.isPaused(job, schema.now()),
    handedMs: lane !== job && input !== null ? handedAt(schema, job, name) : null,
    live: isLive(row, live),
    open: [...open].sort(bySlot).map((slot) => openSlot(schema, slot)),
    ran: ranAhead(schema, row),
  }
}

/** Instants after `lastSlot` that have run, or begun, by a clock that was ahead. */
function ranAhead({ slots }: Schema, { name, lastSlot, ranUntil }: ScheduleRow): number[] {
  const last = lastSlot ?? Number.NEGATIVE_INFINITY
  if (ranUntil === null || ranUntil <= last) return []
  const ran = [...slots.rows.values()].filter(
    ({ schedule, slot, state, begunAt }) =>
      schedule === name && slot > last && slot <= ranUntil && (state === 'ran' || begunAt !== null),
  )
  return ran.map(({ slot }) => Math.round(slot)).sort((a, b) => a - b)
}

/** Brings schedules back that a clock which is set back since has brought further. */
function* rewind(schema: Schema, session: Session, names: readonly string[]): Statement<string[]> {
  const { schedules, slots } = schema
  const at = schema.now()
  const done: string[] = []
  for (const name of [...names].sort(byBytes)) {
    const row = yield* session.hold(schedules, name, ({ endedAt }) => endedAt === null)
    if (!row) continue
    done.push(name)
    const own = () => [...slots.rows.values()].filter(({ schedule }) => schedule === name)
    const ahead = own().filter(({ slot, state, begunAt }) => slot > at && (state === 'ran' || begunAt !== null))
    for (const slot of own()) {
      const asIs = (how: Partial<SlotRow>): SlotRow => ({ ...slot, ...how })
      const id = slotId(name, slot.slot)
      const isLate = slot.slot > at || slot.dueAt > plus(slot.slot, row.jitterMs)
      if (slot.state === 'waiting' && slot.begunAt === null && isLate) session.set(slots, id, asIs({ state: 'held' }))
      else if (slot.state === 'skipped' && slot.slot > at) session.set(slots, id, undefined)
      else if (slot.state === 'skipped' && slot.through !== null && slot.through > at)
        session.set(slots, id, asIs({ through: at, count: null }))
    }
    session.set(schedules, name, {
      ...row,
      term: row.term + 1,
      fromAt: Math.min(row.fromAt, at),
      lastSlot: row.lastSlot === null ? null : Math.min(row.lastSlot, at),
      ranUntil: ahead.length === 0 ? null : Math.max(...ahead.map(({ slot }) => slot)),
    })
  }
  return done
}

/** When the intent that has the unique key of a schedule was recorded, unless it is in quarantine. */
function handedAt({ uniqueKeys, intents, ledger }: Schema, job: string, name: string): number | null {
  const id = uniqueKeys.rows.get(uniqueId(job, `schedule ${name}`))?.id
  const kept = id === undefined ? undefined : ledger.rows.get(ledgerId(job, id))
  if (id === undefined || (kept?.state === 'quarantined' && kept.holder === null)) return null
  return intents.rows.get(id)?.createdAt ?? null
}

function openSlot({ ledger }: Schema, { slot, dueAt, key, lane, state, begunAt }: SlotRow): OpenSlot {
  const kept = begunAt === null ? undefined : ledger.rows.get(ledgerId(lane, key))
  const standing = !kept ? null : kept.holder !== null ? 'claimed' : kept.state === 'quarantined' ? kept.state : null
  return { slotMs: Math.round(slot), dueMs: Math.round(dueAt), key, held: state === 'held', begunMs: begunAt, standing }
}

function* declare(schema: Schema, session: Session, specs: readonly ScheduleSpec[]): Statement<string[]> {
  const { schedules } = schema
  const at = schema.now()
  const before = new Map(specs.map(({ name }) => [name, schedules.rows.get(name)]))
  const put = new Set<string>()
  for (const spec of [...specs].sort((a, b) => byBytes(a.name, b.name))) {
    const asked = askedOf(spec)
    yield* session.lock(schedules, spec.name)
    const row = session.get(schedules, spec.name)
    if (row && !isChanged(row, asked)) continue
    const made = { version: 1, term: 0, lastSlot: null, createdAt: at, lastAuditAt: null, ranUntil: null }
    const switches = { pausedAt: null, pauseReason: null, pauseAuthor: null }
    const next = row ? { ...row, version: row.version + 1, term: row.term + 1 } : { ...made, ...switches }
    const fromAt = row && row.endedAt === null && isSamePattern(row, asked) ? row.fromAt : at
    session.set(schedules, spec.name, { ...next, ...asked, fromAt, seenAt: at, endedAt: null, endReason: null })
    put.add(spec.name)
    const waiting = (slot: SlotRow) => slot.state === 'waiting' && slot.begunAt === null
    yield* changeSlots(schema, session, spec.name, waiting, () => ({ state: 'held' }))
  }
  return specs.flatMap(({ name, declared }) => (put.has(name) || before.get(name)?.declared === declared ? [name] : []))
}

/** With the same pattern, instants that passed before the edit are still its own. */
const isSamePattern = (row: ScheduleRow, asked: Asked): boolean =>
  (['cron', 'everyMs', 'tz', 'startAt', 'endAt'] as const).every((field) => row[field] === asked[field])

type Asked = Omit<ScheduleSpec, 'startAtMs' | 'endAtMs'> & {
  readonly startAt: number | null
  readonly endAt: number | null
}

const askedOf = ({ startAtMs, endAtMs, input, ...spec }: ScheduleSpec): Asked => ({
  ...spec,
  startAt: told(startAtMs),
  endAt: told(endAtMs),
  input: input === null ? null : jsonbText(JSON.parse(input)),
})

function isChanged(row: ScheduleRow, asked: Asked): boolean {
  if (row.declared !== asked.declared || row.endReason === 'person') return false
  const names = Object.keys(asked) as (keyof Asked)[]
  return row.endedAt !== null || names.some((name) => row[name] !== asked[name])
}

/** Changes those slots of a schedule that match, in their order. */
export function* changeSlots(
  { slots, slotsOpen }: Schema,
  session: Session,
  schedule: string,
  matches: (slot: SlotRow) => boolean,
  change: (slot: SlotRow) => Partial<SlotRow>,
): Statement<SlotRow[]> {
  const changed: SlotRow[] = []
  for (const { slot } of [...slots.found(slotsOpen, schedule)].filter(matches).sort(bySlot)) {
    const row = yield* session.hold(slots, slotId(schedule, slot), matches)
    if (!row) continue
    session.set(slots, slotId(schedule, slot), { ...row, ...change(row) })
    changed.push(row)
  }
  return changed
}

function* write(
  schema: Schema,
  session: Session,
  writes: readonly ScheduleWrite[],
  audited: boolean,
): Statement<Set<string>> {
  const { schedules, slots } = schema
  const at = schema.now()
  const mine = new Map<string, ScheduleRow>()
  for (const { name, term } of [...writes].sort((a, b) => byBytes(a.name, b.name))) {
    const row = yield* session.hold(schedules, name, (each) => each.term === term && each.endedAt === null)
    if (row) mine.set(name, row)
  }
  for (const { name, lastSlotMs, slots: given } of writes) {
    const row = mine.get(name)
    if (!row) continue
    const lastSlot = later(row.lastSlot, told(lastSlotMs))
    const stamp = audited ? { lastAuditAt: at } : {}
    session.set(schedules, name, { ...row, term: row.term + 1, lastSlot, ...stamp })
    for (const each of given) {
      const slot = told(each.slotMs) as number
      const id = slotId(each.schedule, slot)
      const there = slots.rows.get(id)
      // No slot at or before last_slot is ever made.
      if (row.lastSlot !== null && slot <= row.lastSlot && !(there && isOpen(there))) continue
      yield* session.lock(slots, id)
      const known = session.get(slots, id)
      if (known && !isOpen(known) && !mayComeBack(known)) continue
      const { version, lane, key, state, reason, count } = each
      if (state === 'withdrawn') {
        if (known && isOpen(known) && known.begunAt === null) session.set(slots, id, undefined)
        continue
      }
      const through = told(each.throughMs)
      // A row stands for many instants: those that an edit had replaced among them.
      if (through !== null)
        for (const other of [...slots.rows.values()])
          if (other.schedule === name && other.slot > slot && other.slot <= through && mayComeBack(other)) {
            yield* session.lock(slots, slotId(name, other.slot))
            session.set(slots, slotId(name, other.slot), undefined)
          }
      const asked = {
        version,
        lane,
        key,
        dueAt: told(each.dueMs) as number,
        state,
        reason,
        through,
        count,
      }
      const endedAt = state === 'skipped' ? at : null
      const begunAt = known?.begunAt ?? (each.begins ? at : null)
      const madeAt = known?.madeAt ?? at
      const { handedJob, handedIntent, handedKey } = known ?? notHanded
      const handed = { handedJob, handedIntent, handedKey }
      session.set(slots, id, { schedule: each.schedule, slot, ...asked, madeAt, begunAt, endedAt, ...handed })
    }
  }
  return new Set(mine.keys())
}

/** It was skipped by an edit, an end or a resume, before its instant was accounted for; it never ran. */
const mayComeBack = ({ reason }: SlotRow): boolean =>
  reason !== null && ['replaced', 'ended', 'paused'].includes(reason)

/** The greater of two instants, as `greatest` has it: null is none. */
const later = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))

/** Somebody has its claim, or it waits for a person. */
function isKept({ ledger }: Schema, { lane, key }: SlotRow): boolean {
  const row = ledger.rows.get(ledgerId(lane, key))
  return row !== undefined && (row.holder !== null || row.state === 'quarantined')
}

function tidy(schema: Schema, session: Session, leaseMs: number): { ended: string[]; forgotten: number } {
  const { schedules, slots } = schema
  const at = schema.now()
  const live = liveJobs(schema, leaseMs)
  const settled = [...schema.workers.rows.values()].some(
    (row) => row.beatAt > plus(at, -(row.leaseMs ?? leaseMs)) && row.startedAt <= plus(at, -hourMs),
  )
  const ended: string[] = []
  const due = [...schedules.rows.values()]
    .filter(({ declared, endedAt, lane, seenAt }) => {
      if (!declared || endedAt !== null) return false
      return live.has(lane) ? seenAt < plus(at, -hourMs) : settled && seenAt < plus(at, -7 * dayMs)
    })
    .sort(byName)
    .slice(0, tidyMax.schedules)
  for (const { name } of due) {
    const row = session.holdFree(schedules, name)
    if (!row) continue
    if (live.has(row.lane)) {
      session.set(schedules, name, { ...row, seenAt: at })
      continue
    }
    session.set(schedules, name, { ...row, endedAt: at, endReason: 'absent', term: row.term + 1 })
    ended.push(name)
    for (const slot of [...slots.found(schema.slotsOpen, name)].filter(isAhead))
      session.set(slots, slotId(name, slot.slot), { ...slot, state: 'skipped', reason: 'ended', endedAt: at })
  }
  // What had begun, and nobody holds, waits for an attempt that never comes.
  for (const slot of [...slots.rows.values()].filter(isOpen)) {
    const end = schedules.rows.get(slot.schedule)?.endedAt ?? null
    if (end === null || end >= plus(at, -hourMs) || isKept(schema, slot)) continue
    session.set(slots, slotId(slot.schedule, slot.slot), { ...slot, state: 'skipped', reason: 'ended', endedAt: at })
  }
  const old = [...slots.rows.values()]
    .filter(({ endedAt }) => endedAt !== null && endedAt < plus(at, -30 * dayMs))
    .slice(0, tidyMax.slots)
    .filter(({ schedule, slot }) => session.holdFree(slots, slotId(schedule, slot)))
  for (const { schedule, slot } of old) session.set(slots, slotId(schedule, slot), undefined)
  return { ended, forgotten: old.length }
}
