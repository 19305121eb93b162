// A person called: the kill switch of a job. In: a job, and why. Out: no check begun from now on starts a key of it (S8),
// until it is resumed or its time is over; what it is given meanwhile is stored and held (M39). Needs the store alone: a
// queue that is away is no reason why a job cannot be stopped.
import { type Duration, milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import { checkArgument, checkOptions, type Options, readElsewhere, shown, text } from '../base/options.ts'
import type { Job } from '../job/job.ts'
import { storable } from '../job/outcome.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Pauses } from '../store/pauses.ts'
import type { PauseRow, StoreStatus } from '../store/status.ts'
import type { ActOptions } from './quarantine.ts'

/** Why a job is paused, and for how long. */
export interface PauseOptions extends ActOptions {
  /** Whoever finds the job paused reads it: in `status`, in `pauses()` and in `regrow.audit`. */
  reason: string
  /** It is over by itself after so long, 10 years at most. Defaults to until somebody resumes it. */
  for?: Duration
}

/** The kill switch of each job. */
export interface Pausing {
  /**
   * Stops the hints and starts of a job; handlers that run go on. Answers the pause as it holds now: a job that is paused
   * already keeps its `since` and gets the new reason and end.
   */
  pause(job: string, options: PauseOptions): Promise<PauseRow>
  /** Ends a pause; a new sweep brings back all that waits, slowly at first. False: the job was not paused. */
  resume(job: string, options?: ActOptions): Promise<boolean>
  /** The pauses that hold now, by job. */
  pauses(): Promise<PauseRow[]>
}

export interface PausingPorts {
  readonly pauses: Pauses
  readonly status: Pick<StoreStatus, 'names'>
  /** Every job that the app declares. */
  readonly jobs: readonly Job[]
  readonly author: string
}

const forMaxMs = 3_650 * 86_400_000

/** `ports` opens the store: nothing is opened before the first call. */
export function pausing(ports: () => Promise<PausingPorts>): Pausing {
  return {
    async pause(job, options) {
      const { reason, author, forMs } = readPause(job, options)
      const open = await ports()
      await refuseUnknown(open, job)
      return open.pauses.pause(job, reason, author ?? open.author, forMs)
    },
    async resume(job, options = {}) {
      const { author } = readResume(job, options)
      const open = await ports()
      const ended = await open.pauses.resume(job, author ?? open.author)
      if (!ended) await refuseUnknown(open, job)
      return ended
    },
    pauses: async () => (await ports()).pauses.list(),
  }
}

/** A pause of a misspelt name would stop nothing, and look as if it did. */
async function refuseUnknown({ status, jobs }: PausingPorts, job: string): Promise<void> {
  const declared = jobs.map(({ name }) => name)
  if (declared.includes(job)) return
  const known = [...new Set([...(await status.names(job)), ...declared])].sort()
  if (known.includes(job)) return
  const { code, message, hint } = unknownJob(job, known)
  throw new RegrowError(
    code,
    message.split('\n  → ')[0] as string,
    `${hint} A job that no worker has had yet is known to the app that declares it (--app).`,
  )
}

function readPause(job: string, options: PauseOptions) {
  const found = readActing('pause', job, options, { reason: readElsewhere, for: readElsewhere, author: text })
  const { reason } = options
  if (typeof reason !== 'string' || reason.trim() === '')
    throw mistake('pause', job, `\`reason\` is ${reason === undefined ? 'missing' : shown(reason)}`, sayWhy)
  return { ...found, reason: storable(reason.trim()), forMs: readFor(options.for) }
}

const sayWhy = 'Say why: whoever finds the job paused reads it.'

const readResume = (job: string, options: ActOptions) => readActing('resume', job, options, { author: text })

function readActing(verb: string, job: string, options: ActOptions, known: Options) {
  checkArgument(`${verb}()`, 'the job', job, text, `The ${verb} was not made. Give its name, as in \`job.name\`.`)
  checkOptions(`${verb} of "${job}"`, options, known, `The ${verb} was not made.`)
  return { author: options.author === undefined ? undefined : storable(options.author.trim()) }
}

/** Milliseconds; null: until it is resumed. */
function readFor(given: Duration | undefined): number | null {
  if (given === undefined) return null
  const ms = milliseconds(given, '`for`')
  if (ms > 0 && ms <= forMaxMs) return ms
  throw new RegrowError(
    'bad_duration',
    `\`for\` is ${shown(given)}`,
    'Give a duration above zero and of at most 3650d. Left out, the pause holds until the job is resumed.',
  )
}

const mistake = (verb: string, job: string, what: string, todo: string) =>
  new RegrowError('bad_options', `${verb} of "${job}": ${what}`, `The ${verb} was not made. ${todo}`)
