// Schedules as people see them, and what became of the work that their slots handed over.
import { type CalendarInterval, readCalendarText } from '../job/calendar-interval.ts'
import type { Job } from '../job/job.ts'
import type { Source } from '../store/source.ts'
import type { HandedOver, TimetableRow, TimetableSlot } from '../store/timetable.ts'

/** A schedule as people see it. */
export interface ScheduleInfo {
  readonly name: string
  readonly job: string
  /** Null for elapsed time and for calendar intervals. */
  readonly cron: string | null
  readonly everyMs: number | null
  /** A calendar interval, and its first instant as local time; null: it recurs by `cron` or `everyMs`. */
  readonly calendar: { readonly every: CalendarInterval; readonly anchor: string } | null
  readonly tz: string
  readonly missed: 'once' | 'skip' | { readonly all: number }
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly jitterMs: number
  readonly startAt: Date | null
  readonly endAt: Date | null
  /** What each slot hands over: the key of a row. Null: an input, or its slots are the work. */
  readonly key: string | null
  /** What each slot hands over: an input. Null: a key, or its slots are the work. */
  readonly input: unknown
  /** What the last slot that handed over has handed over, and whether that has succeeded. Null: none has. */
  readonly handed: (HandedOver & { readonly at: Date }) | null
  /** Raised by every edit. */
  readonly version: number
  /** By code; otherwise by `schedules.add`. */
  readonly declared: boolean
  /** Up to here every instant ran, runs, or was skipped. */
  readonly lastSlot: Date | null
  /** The slot that waits. */
  readonly nextSlot: Date | null
  /** A slot runs right now. */
  readonly running: boolean
  readonly lastAuditAt: Date | null
  readonly paused: { readonly reason: string; readonly author: string; readonly since: Date } | null
  readonly ended: { readonly at: Date; readonly why: 'person' | 'absent' } | null
  /** A live worker has its job. */
  readonly live: boolean
}

export type { HandedOver }

/** One slot: an instant that waits, ran, or was skipped with a reason. */
export type SlotInfo = TimetableSlot

export const infoOf = (row: TimetableRow): ScheduleInfo => ({
  name: row.name,
  job: row.job,
  ...patternOf(row),
  key: row.key,
  input: row.input === null ? null : (JSON.parse(row.input) as unknown),
  handed: row.handed,
  tz: row.tz,
  missed: row.missed.startsWith('all ') ? { all: Number(row.missed.slice(4)) } : (row.missed as 'once' | 'skip'),
  overlap: row.overlap,
  jitterMs: row.jitterMs,
  startAt: row.startAtMs === null ? null : new Date(row.startAtMs),
  endAt: row.endAtMs === null ? null : new Date(row.endAtMs),
  version: row.version,
  declared: row.declared,
  lastSlot: row.lastSlot,
  nextSlot: row.nextSlot,
  running: row.running,
  lastAuditAt: row.lastAuditAt,
  paused: row.paused,
  ended: row.ended,
  live: row.live,
})

function patternOf({ cron, everyMs }: TimetableRow): Pick<ScheduleInfo, 'cron' | 'everyMs' | 'calendar'> {
  const rule = cron === null ? null : readCalendarText(cron)
  if (!rule) return { cron, everyMs, calendar: null }
  return { cron: null, everyMs, calendar: { every: { [rule.unit]: rule.count } as never, anchor: rule.anchor } }
}

/** Whose check is asked which keys are pending. */
export type SourceOf = (job: Job) => Pick<Source, 'check'>

type Handing = { readonly handed: HandedOver | null }

/** Keys of rows whose state only their job's query knows: it is asked once per job, where this process declares the job. */
export async function withHanded<Row extends Handing>(
  rows: readonly Row[],
  jobs: readonly Job[],
  source: SourceOf,
): Promise<Row[]> {
  const open = rows.flatMap(({ handed }) => (handed?.state === 'unknown' ? [handed] : []))
  const answers = new Map<string, ReadonlySet<string> | null>()
  for (const name of new Set(open.map(({ job }) => job))) {
    const job = jobs.find((each) => each.name === name)
    const keys = new Set(open.flatMap((each) => (each.job === name ? [each.key] : [])))
    answers.set(name, job ? await pendingOf(source(job), [...keys]) : null)
  }
  return rows.map((row) => {
    const pending = row.handed?.state === 'unknown' ? answers.get(row.handed.job) : undefined
    if (!pending || !row.handed) return row
    return { ...row, handed: { ...row.handed, state: pending.has(row.handed.key) ? 'pending' : 'done' } }
  })
}

/** Null: it cannot be told, because the query cannot be run. */
async function pendingOf(source: Pick<Source, 'check'>, keys: readonly string[]): Promise<ReadonlySet<string> | null> {
  try {
    const { pending } = await source.check(keys)
    return new Set(pending.keys())
  } catch {
    return null
  }
}
