// A person called, or code at run time: what recurs, since when, what ran and what was skipped; and schedules that are made,
// paused, resumed, run and ended.
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { nearest } from '../base/options.ts'
import type { EventMap } from '../job/event-map.ts'
import { type Job, jobNamePattern } from '../job/job.ts'
import { storable } from '../job/outcome.ts'
import { readSchedule, type ScheduleOptions } from '../job/schedule.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Push } from '../queue/push.ts'
import type { ScheduleSpec, Schedules, SkipReason } from '../store/schedules.ts'
import type { Timetable, TimetableRow, TimetableSlot } from '../store/timetable.ts'

/** A schedule that is made at run time, for any job of the app. */
export interface NewSchedule extends ScheduleOptions {
  /** The job, or its name. */
  job: string | { readonly name: string }
  /** For a job with `pending`: the key that is enqueued at each instant. */
  key?: unknown
  /** For a job with `input`: what is enqueued at each instant. */
  input?: unknown
}

/** A schedule as people see it. */
export interface ScheduleInfo {
  readonly name: string
  readonly job: string
  readonly cron: string | null
  readonly everyMs: number | null
  readonly tz: string
  readonly missed: 'once' | 'skip' | { readonly all: number }
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly jitterMs: number
  readonly startAt: Date | null
  readonly endAt: Date | null
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

/** One slot: an instant that waits, ran, or was skipped with a reason. */
export type SlotInfo = TimetableSlot

export interface SchedulesOfApp {
  /** Makes a schedule, or changes the one of that name: what is queued of the old one starts nothing. */
  add(name: string, options: NewSchedule): Promise<ScheduleInfo>
  /** A page by name, 100 unless `limit` (at most 1,000) says otherwise; `next` is the `after` of the next page. */
  list(options?: { job?: string; limit?: number; after?: string }): Promise<{
    schedules: readonly ScheduleInfo[]
    next: string | null
  }>
  /** One schedule with its last slots (20 unless `slots` says otherwise), newest first; null: there is none of that name. */
  show(name: string, options?: { slots?: number }): Promise<(ScheduleInfo & { slots: readonly SlotInfo[] }) | null>
  /** Its next instants from now on, 1,000 at most. */
  next(name: string, count?: number): Promise<Date[]>
  /** Its slots start nothing until it is resumed; instants that pass meanwhile are recorded as skipped. */
  pause(name: string, options: { reason: string; author?: string }): Promise<void>
  /** From the next instant on. Also for one that a person ended; one that is neither paused nor ended stays as it is. */
  resume(name: string, options?: { author?: string }): Promise<void>
  /** For good, until it is resumed: also when code still declares it. */
  end(name: string, options?: { author?: string }): Promise<void>
  /** A slot of this moment, beside the pattern. */
  run(name: string, options?: { author?: string }): Promise<{ at: Date; key: string }>
}

export interface SchedulesPorts {
  readonly schedules: Schedules
  readonly timetable: Timetable
  readonly push: Push
  readonly events: Events<EventMap>
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  readonly author: string
  /** The job that hands over what is made at run time. */
  readonly handOverLane: string
  /** Makes the slots that these schedules should have now. */
  readonly keep: (names: readonly string[], reason?: 'missed' | 'paused') => Promise<void>
  /** What is wrong with a pattern, as a sentence; null: nothing. */
  readonly mistake: (spec: ScheduleSpec) => string | null
  /** The next instants of a pattern. */
  readonly instants: (spec: ScheduleSpec, afterMs: number, count: number) => number[]
  /** An input, validated, as JSON text. */
  readonly inputText: (job: Job, input: unknown) => Promise<string>
}

const instantsMax = 1_000
const pageMax = 1_000

/** `ports` opens the store: nothing is opened before the first call. */
export function schedulesOf(ports: () => Promise<SchedulesPorts>): SchedulesOfApp {
  const found = async (open: SchedulesPorts, name: string): Promise<TimetableRow> => {
    const row = await open.timetable.find(text(name, 'name'), open.leaseMs)
    if (!row) throw await unknownSchedule(open, name)
    return row
  }
  return {
    async add(name, options) {
      const open = await ports()
      const spec = await specOf(open, name, options)
      const inCode = open.jobs.some((job) => job.name === name && job.schedule)
      if (inCode || (await open.schedules.declare([spec])).length === 0)
        throw new RegrowError(
          'schedule_taken',
          `The schedule "${name}" is declared in code, by the job of that name`,
          'Give this one another name, or change the declaration.',
        )
      await open.keep([name])
      return infoOf(await found(open, name))
    },
    async list({ job, limit = 100, after } = {}) {
      const open = await ports()
      const size = Math.min(Math.max(1, Math.floor(number(limit, 'limit'))), pageMax)
      const page = {
        job: job === undefined ? null : text(job, 'job'),
        after: after === undefined ? null : text(after, 'after'),
        limit: size,
      }
      const { rows } = await open.timetable.list(page, open.leaseMs)
      return { schedules: rows.map(infoOf), next: rows.length === size ? (rows.at(-1)?.name ?? null) : null }
    },
    async show(name, { slots = 20 } = {}) {
      const { timetable, leaseMs } = await ports()
      const row = await timetable.find(text(name, 'name'), leaseMs)
      if (!row) return null
      return {
        ...infoOf(row),
        slots: await timetable.slots(name, Math.min(Math.max(0, Math.floor(number(slots, 'slots'))), pageMax)),
      }
    },
    async next(name, count = 10) {
      const open = await ports()
      if (!Number.isInteger(count) || count < 1 || count > instantsMax)
        throw new RegrowError('bad_options', `\`count\` is ${count}`, `Give a whole number from 1 to ${instantsMax}.`)
      const row = await found(open, name)
      const { at } = await open.timetable.list({ job: null, after: null, limit: 1 }, open.leaseMs)
      const afterMs = Math.max(at.getTime(), row.lastSlot?.getTime() ?? 0)
      return open.instants(row, afterMs, count).map((ms) => new Date(ms))
    },
    async pause(name, options) {
      const { reason, author } = (options ?? {}) as { reason?: string; author?: string }
      const open = await ports()
      if (typeof reason !== 'string' || reason.trim() === '')
        throw new RegrowError(
          'bad_options',
          'A pause needs a reason',
          "Say why, as in { reason: 'too loud' }: who finds it wants to know.",
        )
      if (
        !(await open.timetable.pause(
          text(name, 'name'),
          text(reason.trim(), 'reason'),
          text(author ?? open.author, 'author'),
        ))
      )
        throw await notThere(open, name)
    },
    async resume(name, { author } = {}) {
      const open = await ports()
      const { paused, ended } = await found(open, name)
      // Nothing was stopped: what passed meanwhile was not skipped for a pause.
      if (!paused && !ended) return
      if (!(await open.timetable.resume(text(name, 'name'), text(author ?? open.author, 'author'))))
        throw await unknownSchedule(open, name)
      await open.keep([name], 'paused')
    },
    async end(name, { author } = {}) {
      const open = await ports()
      const skipped = await open.timetable.end(text(name, 'name'), text(author ?? open.author, 'author'))
      if (!skipped) throw await notThere(open, name)
      for (const at of skipped) open.events.emit('slot.skipped', skipOf(name, at, 'ended'))
    },
    async run(name, { author } = {}) {
      const open = await ports()
      const slot = await open.timetable.run(text(name, 'name'), text(author ?? open.author, 'author'))
      if (!slot) throw await notThere(open, name)
      await open.push([{ job: slot.lane, key: slot.key, delayMs: 0, fresh: true }])
      return { at: slot.at, key: slot.key }
    },
  }
}

/** Text that the store can hold. */
function text(given: unknown, what: string): string {
  if (typeof given === 'string') return storable(given)
  throw new RegrowError('bad_options', `\`${what}\` is ${shown(given)}`, 'Give a text.')
}

function number(given: unknown, what: string): number {
  if (typeof given === 'number' && !Number.isNaN(given)) return given
  throw new RegrowError('bad_options', `\`${what}\` is ${shown(given)}`, 'Give a number.')
}

const shown = (given: unknown) => (typeof given === 'bigint' ? `${given}n` : (JSON.stringify(given) ?? String(given)))

async function specOf(open: SchedulesPorts, name: string, options: NewSchedule): Promise<ScheduleSpec> {
  if (typeof options !== 'object' || options === null)
    throw new RegrowError(
      'bad_schedule',
      `schedule ${shown(name)}: its options are ${shown(options)}`,
      "Say which job it is of, and when: { job: 'report', cron: '0 3 * * *' }.",
    )
  const { job: target, key, input, ...rest } = options
  const wanted = typeof target === 'string' ? target : target?.name
  const job = open.jobs.find((each) => each.name === wanted)
  if (!job)
    throw unknownJob(
      String(wanted),
      open.jobs.map((each) => each.name),
    )
  const { recurrence, mistakes } = readSchedule(rest, `schedule "${name}"`)
  const wrong = (sentence: string) => mistakes.push(`schedule "${name}": ${sentence}`)
  if (typeof name !== 'string' || !jobNamePattern.test(name))
    wrong('a name begins with a letter and has at most 128 of A-Z a-z 0-9 _ . : -')
  const rows = !job.slots && job.input === null
  if (rows && key === undefined) wrong(`\`key\` is missing: "${job.name}" works on rows, which one is enqueued?`)
  if (!rows && key !== undefined) wrong(`\`key\` belongs to jobs with \`pending\`, and "${job.name}" is none`)
  if (job.input && input === undefined) wrong(`\`input\` is missing: what does "${job.name}" get at each instant?`)
  if (!job.input && input !== undefined) wrong(`\`input\` belongs to jobs with \`input\`, and "${job.name}" is none`)
  const spec: ScheduleSpec = {
    ...recurrence,
    name,
    job: job.name,
    lane: job.slots ? job.name : open.handOverLane,
    key: null,
    input: null,
    declared: false,
  }
  const mistake = mistakes.length === 0 ? open.mistake(spec) : null
  if (mistake) wrong(mistake)
  if (mistakes.length > 0)
    throw new RegrowError('bad_schedule', mistakes.join('\n'), 'Nothing was stored. Mend it and add it again.')
  return {
    ...spec,
    key: rows ? job.key.encode(key) : null,
    input: job.input ? await open.inputText(job, input) : null,
  }
}

const skipOf = (schedule: string, at: Date, reason: SkipReason) => ({
  schedule,
  at: at.toISOString(),
  reason,
  through: null,
  count: null,
})

/** Unknown, ended, or (for a run) paused: which of these, the row tells. */
async function notThere(open: SchedulesPorts, name: string): Promise<RegrowError> {
  const row = await open.timetable.find(text(name, 'name'), open.leaseMs)
  if (!row) return unknownSchedule(open, name)
  if (!row.ended && !row.paused)
    return new RegrowError('schedule_stopped', `The schedule "${name}" has a slot of this millisecond`, 'Try again.')
  const what = row.ended ? 'has ended' : 'is paused'
  return new RegrowError('schedule_stopped', `The schedule "${name}" ${what}`, `regrow schedules resume ${name}`)
}

async function unknownSchedule({ timetable, leaseMs }: SchedulesPorts, name: string): Promise<RegrowError> {
  const { rows } = await timetable.list({ job: null, after: null, limit: pageMax }, leaseMs)
  const names = rows.map((row) => row.name)
  const guess = nearest(name, names)
  return new RegrowError(
    'unknown_schedule',
    `There is no schedule "${name}"${guess ? `; did you mean "${guess}"?` : ''}`,
    names.length === 0
      ? 'There is none at all yet: a worker that has a job with `schedule` makes it when it starts.'
      : '`regrow schedules list` shows all of them.',
  )
}

const infoOf = (row: TimetableRow): ScheduleInfo => ({
  name: row.name,
  job: row.job,
  cron: row.cron,
  everyMs: row.everyMs,
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
