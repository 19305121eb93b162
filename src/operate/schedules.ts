// A person called, or code at run time: what recurs, since when, what ran and what was skipped; and schedules that are made,
// paused, resumed, run and ended.
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { checkOptions, type Options, readElsewhere, text as textOption, wholeNumber } from '../base/options.ts'
import { nearest } from '../base/suggest.ts'
import type { TransactionLike } from '../job/declaration.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { Push } from '../queue/push.ts'
import type { ScheduleSpec, Schedules, SkipReason } from '../store/schedules.ts'
import type { Timetable, TimetableRow } from '../store/timetable.ts'
import type { StoreTransaction } from '../store/transaction.ts'
import { type NewSchedule, type SpecPorts, specOf, text } from './new-schedule.ts'
import { infoOf, type ScheduleInfo, type SlotInfo, type SourceOf, withHanded } from './schedule-info.ts'

export interface SchedulesOfApp {
  /**
   * Makes a schedule, or changes the one of that name: what is queued of the old one starts nothing. One that has ended stays as it was,
   * and the answer has `ended`: `resume` or `remove` it first.
   */
  add<const J extends string | { readonly name: string }>(name: string, options: NewSchedule<J>): Promise<ScheduleInfo>
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
  /** For good, until it is resumed: also when code declares it or adds it again. */
  end(name: string, options?: { author?: string }): Promise<void>
  /** Deletes it with its history. One that code declares, while a live worker has it, is refused: `end` it. */
  remove(name: string, options?: { author?: string }): Promise<void>
  /** A slot of this moment, beside the pattern. */
  run(name: string, options?: { author?: string }): Promise<{ at: Date; key: string }>
}

export interface SchedulesPorts extends SpecPorts {
  readonly schedules: Schedules
  readonly timetable: Timetable
  readonly push: Push
  readonly events: Events<EventMap>
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  readonly author: string
  readonly source: SourceOf
  /** A transaction of the caller's as the store uses it; what is none is an error with a cure. */
  readonly transactionOf: (of: string, tx: TransactionLike) => Promise<StoreTransaction>
  /** Calls this after the commit of a transaction that regrow opened; false: it is one of the user's own. */
  readonly afterCommit: (tx: object, act: () => Promise<unknown>) => boolean
  /** Makes the slots that these schedules should have now. */
  readonly keep: (names: readonly string[], reason?: 'missed' | 'paused') => Promise<void>
  /** The next instants of a pattern. */
  readonly instants: (spec: ScheduleSpec, afterMs: number, count: number) => number[]
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
      const { tx: theirs, ...given } = (options ?? {}) as NewSchedule
      const tx = theirs === undefined ? undefined : await open.transactionOf(`add of the schedule "${name}"`, theirs)
      const spec = await specOf(open, name, options && given)
      const inCode = open.jobs.some((job) => job.name === name && job.schedule)
      if (inCode || (await open.schedules.declare([spec], tx)).length === 0)
        throw new RegrowError(
          'schedule_taken',
          `The schedule "${name}" is declared in code, by the job of that name`,
          'Give this one another name, or change the declaration.',
        )
      if (!tx) await open.keep([name])
      // Nobody sees the schedule before the commit. After one that is not ours, or where this fails, the next audit makes its first slot.
      else open.afterCommit(theirs as TransactionLike, () => open.keep([name]).catch(() => {}))
      const row = await open.timetable.find(name, open.leaseMs, tx)
      if (!row) throw await unknownSchedule(open, name)
      return infoOf(row)
    },
    async list(options = {}) {
      check('list', options, { job: textOption, limit: wholeNumber(1, pageMax), after: textOption })
      const { job, limit: size = 100, after } = options
      const open = await ports()
      const page = {
        job: job === undefined ? null : text(job, 'job'),
        after: after === undefined ? null : text(after, 'after'),
        limit: size,
      }
      const { rows } = await open.timetable.list(page, open.leaseMs)
      const schedules = await withHanded(rows.map(infoOf), open.jobs, open.source)
      return { schedules, next: rows.length === size ? (rows.at(-1)?.name ?? null) : null }
    },
    async show(name, options = {}) {
      check('show', options, { slots: wholeNumber(0, pageMax) })
      const { slots = 20 } = options
      const { timetable, leaseMs, jobs, source } = await ports()
      const row = await timetable.find(text(name, 'name'), leaseMs)
      if (!row) return null
      const last = await timetable.slots(name, slots)
      const [info] = await withHanded([infoOf(row)], jobs, source)
      return { ...(info as ScheduleInfo), slots: await withHanded(last, jobs, source) }
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
      check('pause', options ?? {}, { reason: readElsewhere, author: textOption })
      const { reason, author } = (options ?? {}) as { reason?: string; author?: string }
      const open = await ports()
      if (typeof reason !== 'string' || reason.trim() === '')
        throw new RegrowError(
          'bad_options',
          'A pause needs a reason',
          "Say why, as in { reason: 'too loud' }: who finds it wants to know.",
        )
      if (
        !(await open.timetable.control.pause(
          text(name, 'name'),
          text(reason.trim(), 'reason'),
          text(author ?? open.author, 'author'),
        ))
      )
        throw await notThere(open, name)
    },
    async resume(name, options = {}) {
      const author = authorOf('resume', options)
      const open = await ports()
      const { paused, ended } = await found(open, name)
      // Nothing was stopped: what passed meanwhile was not skipped for a pause.
      if (!paused && !ended) return
      if (!(await open.timetable.control.resume(text(name, 'name'), text(author ?? open.author, 'author'))))
        throw await unknownSchedule(open, name)
      await open.keep([name], 'paused')
    },
    async end(name, options = {}) {
      const author = authorOf('end', options)
      const open = await ports()
      const skipped = await open.timetable.control.end(text(name, 'name'), text(author ?? open.author, 'author'))
      if (!skipped) throw await notThere(open, name)
      for (const at of skipped) open.events.emit('slot.skipped', skipOf(name, at, 'ended'))
    },
    async remove(name, options = {}) {
      const author = authorOf('remove', options)
      const open = await ports()
      const { declared, live } = await found(open, name)
      if (declared && live)
        throw new RegrowError(
          'schedule_taken',
          `The schedule "${name}" is declared in code, and a live worker has it: it would be made again`,
          `End it: regrow schedules end ${name}. Or remove the declaration first, and deploy.`,
        )
      if (!(await open.timetable.control.remove(text(name, 'name'), text(author ?? open.author, 'author'))))
        throw await unknownSchedule(open, name)
    },
    async run(name, options = {}) {
      const author = authorOf('run', options)
      const open = await ports()
      const slot = await open.timetable.control.run(text(name, 'name'), text(author ?? open.author, 'author'))
      if (!slot) throw await notThere(open, name)
      await open.push([{ job: slot.lane, key: slot.key, delayMs: 0, fresh: true }])
      return { at: slot.at, key: slot.key }
    },
  }
}

/** Throws what is wrong with the options of `schedules.<verb>()`. */
const check = (verb: string, given: unknown, options: Options) => checkOptions(`schedules.${verb}()`, given, options)

function authorOf(verb: string, options: { author?: string }): string | undefined {
  check(verb, options, { author: textOption })
  return options.author
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
