// A person called: a job is gone from the code for good. What store and queue hold of it goes; its rows are the user's own.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { RegrowError } from '../base/errors.ts'
import { checkArgument, checkOptions, flag, text } from '../base/options.ts'
import { isOwn, type Job } from '../job/job.ts'
import { storable } from '../job/outcome.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Queue } from '../queue/queue.ts'
import type { Forgetting, JobTraces } from '../store/forgetting.ts'
import type { StoreStatus } from '../store/status.ts'
import type { ActOptions } from './quarantine.ts'

export interface ForgetOptions extends ActOptions {
  /** Deletes stored inputs and keys in quarantine, too. Defaults to false: a job that has any is not forgotten. */
  force?: boolean
}

/** What was forgotten of a job. */
export interface ForgetReport extends JobTraces {
  readonly job: string
  /** Hints that were taken out of the queue; null: it did not answer, or cannot drop those of one job. They start nothing. */
  readonly hints: number | null
}

export interface ForgetPorts {
  readonly clock: Clock
  readonly forgetting: Forgetting
  readonly status: Pick<StoreStatus, 'names'>
  readonly queue: Pick<Queue, 'forget'>
  /** Every job that the app declares. */
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  readonly author: string
}

/** S16: a person waits for the answer. */
const queuePatienceMs = 5_000

export async function forget(
  { clock, forgetting, status, queue, jobs, leaseMs, author }: ForgetPorts,
  job: string,
  options: ForgetOptions = {},
): Promise<ForgetReport> {
  checkArgument('forget()', 'the job', job, text, 'Nothing was forgotten.')
  checkOptions(`forget of "${job}"`, options, { force: flag, author: text }, 'Nothing was forgotten.')
  const declared = jobs.map(({ name }) => name)
  if (declared.includes(job) || isOwn(job)) throw inUse(job, 'this app declares it')
  const by = options.author === undefined ? author : storable(options.author.trim())
  const { done, live, schedules, ...traces } = await forgetting.forget(job, leaseMs, options.force === true, by)
  if (live > 0) throw inUse(job, `${live} live ${live === 1 ? 'worker declares' : 'workers declare'} it`)
  if (schedules.length > 0) throw hasSchedules(job, schedules)
  if (!done && traces.intents + traces.quarantined > 0) throw hasWork(job, traces)
  if (!done) throw unknownJob(job, [...new Set([...(await status.names(job)), ...declared])].sort())
  // Hints of a job that nobody declares start nothing: a queue that is away keeps nobody from forgetting it.
  const dropped = withDeadline(clock, queuePatienceMs, 'queue.forget', queue.forget?.(job) ?? Promise.resolve(null))
  return { job, ...traces, hints: await dropped.catch(() => null) }
}

const inUse = (job: string, why: string) =>
  new RegrowError(
    'job_in_use',
    `"${job}" was not forgotten: ${why}`,
    'Remove its declaration, deploy that, and wait until the old workers are gone: one that died counts as live for a lease.',
  )

const hasSchedules = (job: string, schedules: readonly string[]) =>
  new RegrowError(
    'job_in_use',
    `"${job}" was not forgotten: ${schedules.slice(0, 5).join(', ')}${schedules.length > 5 ? ', …' : ''} ${schedules.length === 1 ? 'is a schedule' : 'are schedules'} of it that ${schedules.length === 1 ? 'has' : 'have'} not ended`,
    `End ${schedules.length === 1 ? 'it' : 'each'} first: regrow schedules end <schedule> --yes.`,
  )

const hasWork = (job: string, { intents, quarantined }: JobTraces) =>
  new RegrowError(
    'job_has_work',
    `"${job}" was not forgotten: it has ${[
      ...(intents > 0 ? [`${intents} stored ${intents === 1 ? 'input' : 'inputs'}`] : []),
      ...(quarantined > 0 ? [`${quarantined} ${quarantined === 1 ? 'key' : 'keys'} in quarantine`] : []),
    ].join(' and ')}`,
    'Run or drop them first, or delete them with it: --force on the command line, { force: true } in code.',
  )
