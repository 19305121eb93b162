// What people see of schedules and do with them, in the model: each verb as its .sql file says it.
import { slotKey } from '../../../src/job/schedule.ts'
import type { HandedOver, Timetable, TimetableRow, TimetableSlot } from '../../../src/store/timetable.ts'
import { byBytes } from './order.ts'
import { tell } from './pauses.ts'
import { changeSlots, isAhead, isLive, liveJobs } from './schedules.ts'
import { ledgerId, notHanded, type ScheduleRow, type Schema, type SlotRow, slotId } from './schema.ts'
import type { Session } from './session.ts'

/** The timetable port. */
export function simTimetable(schema: Schema): Timetable {
  const { engine, schedules, slots } = schema
  const recorded = (session: Session, action: string, row: ScheduleRow, author: string, at = schema.now()) =>
    tell(schema, session, { at, author, action, job: row.job, detail: { schedule: row.name } })
  const stands = ({ endedAt }: ScheduleRow) => endedAt === null
  return {
    list: async ({ job, after, limit }, leaseMs) => ({
      at: new Date(schema.now()),
      rows: [...schedules.rows.values()]
        .filter((row) => (job === null || row.job === job) && byBytes(row.name, after ?? '') > 0)
        .sort((a, b) => byBytes(a.name, b.name))
        .slice(0, limit)
        .map((row) => seen(schema, row, leaseMs)),
    }),
    find: async (name, leaseMs) => {
      const row = schedules.rows.get(name)
      return row ? seen(schema, row, leaseMs) : null
    },
    slots: async (name, limit) =>
      [...slots.rows.values()]
        .filter(({ schedule }) => schedule === name)
        .sort((a, b) => b.slot - a.slot)
        .slice(0, limit)
        .map((row) => seenSlot(schema, row)),
    stale: async () => {
      throw new Error('a person asks how schedules stand, and no simulated person does')
    },
    control: {
      pause: (name, reason, author) =>
        engine.autocommit('timetable.pause', function* (session) {
          const row = yield* session.hold(schedules, name, stands)
          if (!row) return false
          const paused = { pausedAt: row.pausedAt ?? schema.now(), pauseReason: reason, pauseAuthor: author }
          session.set(schedules, name, { ...row, ...paused, term: row.term + 1 })
          recorded(session, 'schedule.pause', row, author)
          return true
        }),
      resume: (name, author) =>
        engine.autocommit('timetable.resume', function* (session) {
          const at = schema.now()
          const row = yield* session.hold(schedules, name, () => true)
          if (!row) return false
          if (row.pausedAt === null && stands(row)) return true
          const isPast = (slot: Parameters<typeof isAhead>[0]) => isAhead(slot) && slot.slot <= at
          yield* changeSlots(schema, session, name, isPast, () => ({
            state: 'skipped',
            reason: 'paused',
            endedAt: at,
          }))
          const none = { pausedAt: null, pauseReason: null, pauseAuthor: null, endedAt: null, endReason: null }
          const fromAt = row.endedAt === null ? row.fromAt : at
          session.set(schedules, name, { ...row, ...none, seenAt: at, fromAt, term: row.term + 1 })
          recorded(session, 'schedule.resume', row, author)
          return true
        }),
      end: (name, author) =>
        engine.autocommit('timetable.end', function* (session) {
          const at = schema.now()
          const row = yield* session.hold(schedules, name, stands)
          if (!row) return null
          session.set(schedules, name, { ...row, endedAt: at, endReason: 'person', term: row.term + 1 })
          const skipped = { state: 'skipped', reason: 'ended', endedAt: at } as const
          const changed = yield* changeSlots(schema, session, name, isAhead, () => skipped)
          recorded(session, 'schedule.end', row, author)
          return changed.map(({ slot }) => date(slot) as Date)
        }),
      remove: (name, author) =>
        engine.autocommit('timetable.remove', function* (session) {
          const row = yield* session.hold(schedules, name, () => true)
          if (!row) return false
          const own = [...slots.rows.values()].filter(({ schedule }) => schedule === name)
          for (const { lane, key, state } of own.sort((a, b) => byBytes(a.key, b.key))) {
            if (state !== 'waiting' && state !== 'held') continue
            const known = yield* session.hold(schema.ledger, ledgerId(lane, key), ({ holder }) => holder === null)
            if (known) session.set(schema.ledger, ledgerId(lane, key), undefined)
          }
          for (const { slot } of own) {
            yield* session.lock(slots, slotId(name, slot))
            session.set(slots, slotId(name, slot), undefined)
          }
          session.set(schedules, name, undefined)
          recorded(session, 'schedule.remove', row, author)
          return true
        }),
      run: (name, author) =>
        engine.autocommit('timetable.run', function* (session) {
          const now = Math.floor(schema.now())
          const row = yield* session.hold(schedules, name, (each) => stands(each) && each.pausedAt === null)
          if (!row) return null
          recorded(session, 'schedule.run', row, author, now)
          // Never on an instant of the pattern, which accounts for all before it.
          const at = (now - (row.startAt ?? 0)) % (row.everyMs ?? 1_000) === 0 || now % 1_000 === 0 ? now + 1 : now
          const id = slotId(name, at)
          yield* session.unwritten(slots, id)
          if (session.get(slots, id)) return null
          yield* session.lock(slots, id)
          const { version, lane } = row
          const key = slotKey(name, version, at)
          const made = { schedule: name, slot: at, version, lane, key, dueAt: now, madeAt: now }
          const blank = { reason: null, through: null, count: null, begunAt: null, endedAt: null, ...notHanded }
          session.set(slots, id, { ...made, ...blank, state: 'waiting' })
          return { lane, key, at: new Date(at) }
        }),
    },
  }
}

const date = (ms: number | null) => (ms === null ? null : new Date(Math.round(ms)))

function seen(schema: Schema, row: ScheduleRow, leaseMs: number): TimetableRow {
  const { slots, slotsOpen, ledger } = schema
  const open = [...slots.found(slotsOpen, row.name)].sort((a, b) => a.slot - b.slot)
  const next = open.find(({ begunAt }) => begunAt === null)
  const { startAt, endAt, pausedAt, pauseReason, pauseAuthor, endedAt, endReason, createdAt, lastSlot, lastAuditAt } =
    row
  const { name, job, lane, cron, everyMs, tz, missed, overlap, jitterMs, key, input, declared, version } = row
  return {
    ...{ name, job, lane, cron, everyMs, tz, missed, overlap, jitterMs, key, input, declared, version },
    startAtMs: startAt,
    endAtMs: endAt,
    createdAt: date(createdAt) as Date,
    lastSlot: date(lastSlot),
    nextSlot: date(next?.slot ?? null),
    nextDue: date(next?.dueAt ?? null),
    running: open.some(
      ({ state, begunAt, ...slot }) =>
        state === 'waiting' &&
        begunAt !== null &&
        (ledger.rows.get(ledgerId(slot.lane, slot.key))?.holder ?? null) !== null,
    ),
    lastAuditAt: date(lastAuditAt),
    paused:
      pausedAt === null
        ? null
        : { reason: pauseReason as string, author: pauseAuthor as string, since: date(pausedAt) as Date },
    ended: endedAt === null ? null : { at: date(endedAt) as Date, why: endReason as 'person' },
    live: isLive(row, liveJobs(schema, leaseMs)),
    handed: lastHanded(schema, row),
  }
}

function handedOver({ ledger, intents }: Schema, row: SlotRow): HandedOver | null {
  const { handedJob: job, handedIntent, handedKey, reason } = row
  const key = handedIntent ?? handedKey
  if (job === null || key === null) return null
  const known = ledger.rows.get(ledgerId(job, key))
  const remembered = (state: string) => (state === 'quarantined' ? 'quarantined' : 'retrying')
  const stored = intents.rows.has(key) ? 'pending' : 'done'
  const state =
    reason === 'dropped'
      ? 'dropped'
      : !known
        ? handedIntent === null
          ? 'unknown'
          : stored
        : known.holder !== null
          ? 'running'
          : remembered(known.state)
  return { job, key, state }
}

function lastHanded(schema: Schema, { name, lane, job }: ScheduleRow): TimetableRow['handed'] {
  if (lane === job) return null
  const [last] = [...schema.slots.rows.values()]
    .filter(({ schedule, handedJob }) => schedule === name && handedJob !== null)
    .sort((a, b) => b.slot - a.slot)
  const handed = last && handedOver(schema, last)
  return last && handed ? { ...handed, at: date(last.slot) as Date } : null
}

const seenSlot = (schema: Schema, row: SlotRow): TimetableSlot => seenWith(row, handedOver(schema, row))

const seenWith = (
  { slot, dueAt, key, state, reason, through, count, begunAt, endedAt }: SlotRow,
  handed: HandedOver | null,
): TimetableSlot => ({
  handed,
  ...{
    at: date(slot) as Date,
    dueAt: date(dueAt) as Date,
    key,
    state: state === 'held' ? 'waiting' : state,
    reason,
    count,
  },
  through: date(through),
  begunAt: date(begunAt),
  endedAt: date(endedAt),
})
