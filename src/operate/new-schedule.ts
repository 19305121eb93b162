// What `schedules.add` is given: the job and what is handed over to it, typed by the job; and the schedule that is stored of it.
import { RegrowError } from '../base/errors.ts'
import { shown } from '../base/options.ts'
import type { TransactionLike } from '../job/declaration.ts'
import { type Job, jobNamePattern } from '../job/job.ts'
import { storable } from '../job/outcome.ts'
import { readSchedule, type ScheduleOptions } from '../job/schedule.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { ScheduleSpec } from '../store/schedules.ts'

/** A job, or its name: then the compiler knows neither its key nor its input. */
type JobOrName = string | { readonly name: string }

/** What is enqueued at each instant, as the job's own `enqueue` takes it: a key, an input, or nothing for a job with `schedule`. */
type Payload<J> = J extends { enqueue(item: infer Item, options?: infer Options): unknown }
  ? 'unique' extends keyof NonNullable<Options>
    ? { input: Item; key?: never }
    : { key: Item; input?: never }
  : J extends { handle: unknown }
    ? { key?: never; input?: never }
    : { key?: unknown; input?: unknown }

/** A schedule that is made at run time, for any job of the app. */
export type NewSchedule<J extends JobOrName = string> = ScheduleOptions & {
  /** The job, or its name. */
  job: J
  /** Your transaction: the schedule commits with it. Its first slot is made after the commit. */
  tx?: TransactionLike
} & Payload<J>

/** The same, of a job that is not known yet. */
interface Given extends ScheduleOptions {
  readonly job: JobOrName
  readonly key?: unknown
  readonly input?: unknown
}

export interface SpecPorts {
  readonly jobs: readonly Job[]
  /** The job that hands over what is made at run time. */
  readonly handOverLane: string
  /** What is wrong with a pattern, as a sentence; null: nothing. */
  readonly mistake: (spec: ScheduleSpec) => string | null
  /** An input, validated, as JSON text. */
  readonly inputText: (job: Job, input: unknown) => Promise<string>
}

/** Text that the store can hold. */
export function text(given: unknown, what: string): string {
  if (typeof given === 'string') return storable(given)
  throw new RegrowError('bad_options', `\`${what}\` is ${shown(given)}`, 'Give a text.')
}

export async function specOf(open: SpecPorts, name: string, options: Given): Promise<ScheduleSpec> {
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
