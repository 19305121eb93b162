// What people do with schedules, in the model: each verb as its .sql file says it. Lists are for people, and none is simulated.
import { slotKey } from '../../../src/job/schedule.ts'
import type { Timetable } from '../../../src/store/timetable.ts'
import { tell } from './pauses.ts'
import { changeSlots, isAhead, later } from './schedules.ts'
import { type ScheduleRow, type Schema, slotId } from './schema.ts'
import type { Session } from './session.ts'

const nobodyAsks = async (): Promise<never> => {
  throw new Error('a person lists schedules, and no simulated person does')
}

/** The timetable port. */
export function simTimetable(schema: Schema): Timetable {
  const { engine, schedules, slots } = schema
  const recorded = (session: Session, action: string, { name, job }: ScheduleRow, author: string, more: object = {}) =>
    tell(schema, session, { at: schema.now(), author, action, job, detail: { schedule: name, ...more } })
  const stands = ({ endedAt }: ScheduleRow) => endedAt === null
  return {
    list: nobodyAsks,
    find: nobodyAsks,
    slots: nobodyAsks,
    stale: nobodyAsks,
    pause: (name, reason, author) =>
      engine.autocommit('timetable.pause', function* (session) {
        const row = yield* session.hold(schedules, name, stands)
        if (!row) return false
        const paused = { pausedAt: row.pausedAt ?? schema.now(), pauseReason: reason, pauseAuthor: author }
        session.set(schedules, name, { ...row, ...paused, term: row.term + 1 })
        recorded(session, 'schedule.pause', row, author, { reason })
        return true
      }),
    resume: (name, author) =>
      engine.autocommit('timetable.resume', function* (session) {
        const at = schema.now()
        const row = yield* session.hold(schedules, name, () => true)
        if (!row) return false
        const isPast = (slot: Parameters<typeof isAhead>[0]) => isAhead(slot) && slot.slot <= at
        const passed = yield* changeSlots(schema, session, name, isPast, () => ({
          state: 'skipped',
          reason: 'paused',
          endedAt: at,
        }))
        const lastSlot = passed.reduce((last, { slot }) => later(last, slot), row.lastSlot)
        const none = { pausedAt: null, pauseReason: null, pauseAuthor: null, endedAt: null, endReason: null }
        const fromAt = row.endedAt === null ? row.fromAt : at
        session.set(schedules, name, { ...row, ...none, seenAt: at, fromAt, lastSlot, term: row.term + 1 })
        recorded(session, 'schedule.resume', row, author)
        return true
      }),
    end: (name, author) =>
      engine.autocommit('timetable.end', function* (session) {
        const at = schema.now()
        const row = yield* session.hold(schedules, name, stands)
        if (!row) return false
        session.set(schedules, name, { ...row, endedAt: at, endReason: 'person', term: row.term + 1 })
        yield* changeSlots(schema, session, name, isAhead, () => ({ state: 'skipped', reason: 'ended', endedAt: at }))
        recorded(session, 'schedule.end', row, author)
        return true
      }),
    run: (name, author) =>
      engine.autocommit('timetable.run', function* (session) {
        const at = Math.floor(schema.now())
        const row = yield* session.hold(schedules, name, (each) => stands(each) && each.pausedAt === null)
        if (!row) return null
        recorded(session, 'schedule.run', row, author)
        const id = slotId(name, at)
        yield* session.unwritten(slots, id)
        if (session.get(slots, id)) return null
        yield* session.lock(slots, id)
        const { version, lane } = row
        const key = slotKey(name, version, at)
        const made = { schedule: name, slot: at, version, lane, key, dueAt: at, madeAt: at }
        const blank = { reason: null, through: null, count: null, begunAt: null, endedAt: null }
        session.set(slots, id, { ...made, ...blank, state: 'waiting' })
        return { lane, key, at: new Date(at) }
      }),
  }
}
