// What people see of schedules and do with them, in SQL.

import type { ScheduleSpec } from '../../../../store/schedules.ts'
import type { HandedOver, StaleSchedule, Timetable, TimetableRow, TimetableSlot } from '../../../../store/timetable.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import { executorOf } from '../opaque.ts'
import type { Statements } from '../statements-by-schema.ts'

/** `available`: false on a schema that is older than schedules; there are none. */
export function sqlTimetable(db: SqlDatabase, texts: () => Statements, available: () => boolean): Timetable {
  const acted = async (text: string, params: readonly string[]) =>
    available() && (await db.query(text, params)).rows.length > 0
  return {
    async list({ job, after, limit }, leaseMs) {
      if (!available()) return { at: new Date(0), rows: [] }
      const { rows } = await db.query(texts().schedules.list, [null, job, after, limit, leaseMs])
      return { at: new Date(Number(rows[0]?.at_ms)), rows: rows.filter(({ name }) => name !== null).map(rowOf) }
    },
    async find(name, leaseMs, tx) {
      if (!available()) return null
      const { rows } = await (tx ? executorOf(tx) : db).query(texts().schedules.list, [name, null, null, 1, leaseMs])
      return rows[0]?.name === name ? rowOf(rows[0] as Row) : null
    },
    async slots(name, limit) {
      if (!available()) return []
      return (await db.query(texts().schedules.listSlots, [name, limit])).rows.map(slotOf)
    },
    async stale(limit, leaseMs, declared = []) {
      if (!available()) return []
      const { rows } = await db.query(texts().schedules.stale, [leaseMs, limit, JSON.stringify(declared)])
      return rows.map((row) => ({
        name: row.name as string,
        job: row.job as string,
        why: row.why as StaleSchedule['why'],
        since: date(row.since_ms) as Date,
        endsAt: date(row.ends_ms),
      }))
    },
    control: {
      pause: (name, reason, author) => acted(texts().schedules.pause, [name, reason, author]),
      resume: (name, author) => acted(texts().schedules.resume, [name, author]),
      async end(name, author) {
        const [row] = available() ? (await db.query(texts().schedules.end, [name, author])).rows : []
        const skipped = JSON.parse((row?.skipped as string | null | undefined) ?? '[]') as number[]
        return row ? skipped.map((ms) => date(ms) as Date) : null
      },
      remove: (name, author) => acted(texts().schedules.remove, [name, author]),
      async run(name, author) {
        const [row] = available() ? (await db.query(texts().schedules.run, [name, author])).rows : []
        return row ? { lane: row.lane as string, key: row.key as string, at: date(row.slot_ms) as Date } : null
      },
    },
  }
}

const date = (cell: unknown) => (cell === null || cell === undefined ? null : new Date(Math.round(Number(cell))))
const number = (cell: unknown) => (cell === null || cell === undefined ? null : Number(cell))

function rowOf(row: Row): TimetableRow {
  const pausedAt = date(row.paused_ms)
  const endedAt = date(row.ended_ms)
  const handedAt = date(row.handed_ms)
  return {
    name: row.name as string,
    job: row.job as string,
    lane: row.lane as string,
    version: Number(row.version),
    cron: row.cron as string | null,
    everyMs: number(row.every_ms),
    tz: row.tz as string,
    startAtMs: number(row.start_at_ms),
    endAtMs: number(row.end_at_ms),
    missed: row.missed as string,
    overlap: row.overlap as ScheduleSpec['overlap'],
    jitterMs: Number(row.jitter_ms),
    key: row.key as string | null,
    input: row.input as string | null,
    declared: row.declared as boolean,
    createdAt: date(row.created_ms) as Date,
    lastSlot: date(row.last_slot_ms),
    nextSlot: date(row.next_slot_ms),
    nextDue: date(row.next_due_ms),
    running: row.running as boolean,
    lastAuditAt: date(row.audit_ms),
    paused: pausedAt && { reason: row.pause_reason as string, author: row.pause_author as string, since: pausedAt },
    ended: endedAt && { at: endedAt, why: row.end_reason as 'person' | 'absent' },
    live: row.live as boolean,
    handed: handedAt ? { ...(handedOf(row) as HandedOver), at: handedAt } : null,
  }
}

const handedOf = (row: Row): HandedOver | null =>
  row.handed_job === null
    ? null
    : {
        job: row.handed_job as string,
        key: row.handed_key as string,
        state: row.handed_state as HandedOver['state'],
      }

const slotOf = (row: Row): TimetableSlot => ({
  at: date(row.slot_ms) as Date,
  dueAt: date(row.due_ms) as Date,
  key: row.key as string,
  state: row.state as TimetableSlot['state'],
  reason: row.reason as TimetableSlot['reason'],
  through: date(row.through_ms),
  count: number(row.count),
  begunAt: date(row.begun_ms),
  endedAt: date(row.ended_ms),
  handed: handedOf(row),
})
