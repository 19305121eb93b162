// The one place that decides what is unhealthy. In: how everything stands, as the tables and the queue tell it. Out: what a
// person should know of, worst first; each with what to do. Pure: the time is the store's, nothing is asked here.
import { readable } from '../base/duration.ts'
import { failingRowMark, keyBytesMax, unusableReason, wrongRowMark } from '../job/key.ts'
import type { DamagedRow } from '../store/repair.ts'
import type { HealRow, PauseRow, SweepRow, WorkerRow } from '../store/status.ts'
import type { StaleSchedule } from '../store/timetable.ts'
import { age, ago, recentMs } from './ages.ts'
import { ofDamaged, ofPulse, ofSchedule, undeclared } from './declared-findings.ts'
import { ofNoWorker } from './no-worker.ts'
import type { JobStatus, Status } from './status.ts'
import { ageOf, waitingAbout, waitText } from './waiting.ts'

/** What was found. Stable words: alerts may be hung on them. */
export type FindingCode =
  | 'sweep_missing'
  | 'sweep_never'
  | 'sweep_late'
  | 'sweep_failing'
  | 'key_unusable'
  | 'no_worker'
  | 'no_handler'
  | 'queue_down'
  | 'queue_unseen'
  | 'queue_lost'
  | 'heal_late'
  | 'claims_unowned'
  | 'paused'
  | 'pause_old'
  | 'pause_grows'
  | 'quarantined'
  | 'no_progress'
  | 'slots_stuck'
  | 'waiting_long'
  | 'schedule_late'
  | 'schedule_absent'
  | 'schedule_missing'
  | 'pulse_missing'
  | 'clock_back'
  | 'rows_damaged'

/** Something that a person should know of. */
export interface Finding {
  /** `bad`: the safety net has a hole, or work stands still. `warn`: worth a look, at daytime. */
  readonly level: 'bad' | 'warn'
  readonly code: FindingCode
  /** Null: it is not about one job. */
  readonly job: string | null
  /** What was found, in one line; it names the job. */
  readonly message: string
  /** What to do about it. */
  readonly hint: string
}

/** Everything that is judged. */
export interface State extends Status {
  /** The last losses of the queue, newest first. */
  readonly heals: readonly HealRow[]
  /** Schedules that should run and do not. */
  readonly stale: readonly StaleSchedule[]
  readonly leaseMs: number
  /** Rows of regrow's own tables that hold what regrow never writes. Defaults to none. */
  readonly damaged?: readonly DamagedRow[]
}

/** Two sweeps may be missed, by a restart and a slow pass; the half minute is for intervals shorter than a pass may take. */
const sweepLate = { intervals: 3, graceMs: 30_000 }
/** Where the schema does not know the interval: the default one. */
const usualEveryMs = 60_000
/** A first turn ends within its budget of 30 s and one page of 10 s, well or badly. */
const firstSweepMs = 60_000
/** One failure may be a lock or a restart, and is tried again within 10 s; the second is the query's. */
const errorsBad = 2
/** Freeing takes a lease, and one more when nobody beat meanwhile; twice that is not freeing any more. */
const unownedLeases = 4
/** Nobody pauses a job for a day and still thinks of it. */
const pauseOldMs = 86_400_000
/** Fewer rows than this come and go; twice as many as when it began are more than the work of a moment. */
const pauseGrowth = { rows: 100, factor: 2 }
/** Longer than the longest back-off: what waits so long was not overlooked by one sweep. */
const waitingMs = 3_600_000
/** The ramp is over after 0.3 s, and a full queue ends a heal: minutes are no healing. */
const healMs = 300_000
/** Something that drains every minute, or every few, stands for a worker; a machine that is started for it may take a while. */
const drainedMs = 600_000

const isDrained = ({ drainedAt }: JobStatus, at: Date) => drainedAt !== null && age(drainedAt, at) <= drainedMs

/** What is to be told of this state: the bad first, and of those what concerns everything before single jobs. */
export function findings(state: State): Finding[] {
  const found = [
    ...ofPulse(state),
    ...ofDamaged(state.damaged ?? []),
    ...ofQueue(state),
    ...ofHeals(state),
    ...withoutWorkers(state, [
      ...state.jobs.flatMap((job) => ofJob(job, state)),
      ...state.stale.map((schedule) => ofSchedule(schedule, state.at)),
    ]),
    ...state.workers.flatMap(ofWorker),
  ]
  return [...found.filter(({ level }) => level === 'bad'), ...found.filter(({ level }) => level === 'warn')]
}

/** These say of single jobs and schedules that they have no worker. */
const forWantOfWorker: readonly FindingCode[] = ['no_handler', 'claims_unowned', 'schedule_absent']

/** While no worker is alive, one finding stands for all that follow from it. */
function withoutWorkers(state: State, found: readonly Finding[]): readonly Finding[] {
  if (state.workers.some(({ live }) => live) || state.jobs.some((job) => isDrained(job, state.at))) return found
  const follows = ({ code }: Finding) => forWantOfWorker.includes(code)
  return [...ofNoWorker(state, found.filter(follows)), ...found.filter((finding) => !follows(finding))]
}

function ofQueue({ queue }: State): Finding[] {
  return [...unseen(queue.unseen), ...down(queue)]
}

function unseen(names: readonly string[]): Finding[] {
  if (names.length === 0) return []
  const message = `Workers use the queue ${names.join(', ')}, which is not the queue of this app: whether it answers cannot be seen from here`
  const hint = `Look with the app of the workers: --app <path>, or "regrow": { "app": "<path>" } in package.json; a store alone does not know their queue. If nobody uses it any more: delete from regrow.marks where queue = '${names[0]}'.`
  return [{ level: 'bad', code: 'queue_unseen', job: null, message, hint }]
}

function down(queue: State['queue']): Finding[] {
  if (!queue.down) return []
  const message = `The queue (${queue.name}) does not answer`
  const hint =
    'Nothing is lost, workers sweep for themselves meanwhile. Mend the queue; its hints come back by themselves.'
  return [{ level: 'bad', code: 'queue_down', job: null, message, hint }]
}

function ofHeals({ heals, jobs, at }: State): Finding[] {
  const recent = heals.filter((heal) => age(heal.at, at) <= recentMs)
  const [last] = recent
  const lost: Finding[] = last
    ? [
        {
          level: 'warn',
          code: 'queue_lost',
          job: null,
          message: `The queue (${last.queue}) was lost ${recent.length === 1 ? '' : `${recent.length} times, last `}${ago(last.at, at)}: its mark was ${last.how}, noticed by ${last.noticedBy}; ${told(last)}`,
          hint: 'The rows are the truth, and their hints come back. If nobody emptied it: was its server restarted, does it evict keys, do two apps share it?',
        },
      ]
    : []
  const open = heals.find(({ endedAt, at: since }) => endedAt === null && age(since, at) > healMs)
  // A job without a worker is told as that; whoever has its handler one day brings its hints back.
  const left = jobs.filter(({ sweep, workers }) => sweep?.healing && workers > 0).map(({ job }) => job)
  if (!open || left.length === 0) return lost
  const message = `The queue (${open.queue}) was lost ${ago(open.at, at)} and has not grown back: ${left.join(', ')}`
  const hint =
    'Their first pass since is not over: see how their sweeps stand. `regrow sweep <job> --dry-run` shows what the query does.'
  return [{ level: 'bad', code: 'heal_late', job: null, message, hint }, ...lost]
}

const told = ({ at, endedAt, pushed, jobsLeft }: HealRow) =>
  endedAt === null
    ? `${pushed} hints are back, ${jobsLeft} ${jobsLeft === 1 ? 'job is' : 'jobs are'} left`
    : `${pushed} hints were back after ${readable(age(at, endedAt))}`

type Judge = (job: JobStatus, state: State) => Finding[]

const ofJob: Judge = (job, state) =>
  [handler, sweeping, unusable, claims, pausing, quarantine, progress, waiting].flatMap((judge) => judge(job, state))

const handler: Judge = (status, { at }) => {
  const { job, workers, sweep, pause } = status
  const waits = waitText(waitingAbout(status, at), at)
  if (workers > 0 || isDrained(status, at) || (sweep === null && waits === '')) return []
  return [
    {
      // Of a paused job nothing is to start anyway.
      level: pause ? 'warn' : 'bad',
      code: 'no_handler',
      job,
      message: `${job}: no live worker has its handler${waits}`,
      hint: `Start a worker that has it. A job that is gone from your code for good is forgotten by: regrow forget ${job}`,
    },
  ]
}

const sweeping: Judge = ({ job, sweep, workers }, state) => {
  const { at } = state
  if (sweep === null) return workers === 0 ? [] : undeclared(job, state)
  const failing = sweep.errors > 0
  const broken: Finding = {
    level: sweep.errors >= errorsBad && workers > 0 ? 'bad' : 'warn',
    code: 'sweep_failing',
    job,
    message: `${job}: its sweep failed${sweep.errors > 1 ? ` ${sweep.errors} times in a row` : ''}: ${oneLine(sweep.lastError)}`,
    hint: `Mend the pending query or what it reads; it is tried again by itself. \`regrow sweep ${job} --dry-run\` shows whether it works.`,
  }
  // Nobody is there to make it: that has been told. What the last one failed of would fail the next one, too.
  if (workers === 0) return failing ? [broken] : []
  // Late because it fails: one reason is enough.
  if (failing && broken.level === 'bad') return [broken]
  return [...late(job, sweep, at), ...(failing ? [broken] : [])]
}

function late(job: string, sweep: SweepRow, at: Date): Finding[] {
  const { lastSuccessAt, nextAt, everyMs } = sweep
  const hint = `Its workers live, but none gets it done: look at their logs for sweep.failed, loop.failed and loop.stalled. \`regrow sweep ${job}\` makes a pass now.`
  if (lastSuccessAt === null)
    return age(nextAt, at) <= firstSweepMs
      ? []
      : [
          {
            level: 'bad',
            code: 'sweep_never',
            job,
            message: `${job}: its sweep never succeeded, and was due ${ago(nextAt, at)}`,
            hint,
          },
        ]
  const limitMs = sweepLate.intervals * (everyMs ?? usualEveryMs) + sweepLate.graceMs
  // Without the interval only the time that it was due tells.
  if (age(everyMs === null ? later(lastSuccessAt, nextAt) : lastSuccessAt, at) <= limitMs) return []
  const meant = everyMs === null ? '' : `, and is meant to every ${readable(everyMs)}`
  const message = `${job}: its sweep last succeeded ${ago(lastSuccessAt, at)}${meant}`
  return [{ level: 'bad', code: 'sweep_late', job, message, hint }]
}

const unusable: Judge = ({ job, sweep }) =>
  !sweep?.unusable
    ? []
    : [
        {
          level: 'bad',
          code: 'key_unusable',
          job,
          message: `${job}: ${count(sweep.unusable.count, 'row', 'rows')} can never run: ${unusableReason(sweep.unusable)}`,
          hint: sweep.unusable.key.startsWith(wrongRowMark)
            ? 'Mend what `page` of the source answers for them. All other rows run.'
            : sweep.unusable.key.startsWith(failingRowMark)
              ? 'Mend these rows, or write the pending query so that it does not fail for them. All other rows run, and each pass takes longer than it need.'
              : `Find them by octet_length(<key>) > ${keyBytesMax}, and give these rows another key, or leave them out of the pending query. All other rows run.`,
        },
      ]

const claims: Judge = ({ job, unowned }, { at, leaseMs, workers }) => {
  const longestMs = Math.max(leaseMs, ...workers.map((worker) => worker.leaseMs ?? 0))
  if (!unowned || age(unowned.since, at) <= unownedLeases * longestMs) return []
  const message = `${job}: ${count(unowned.count, 'claim has', 'claims have')} no live owner, the first since ${readable(age(unowned.since, at))}`
  const hint =
    'A transaction of the dead worker may still hold their rows: look in pg_stat_activity for sessions that are idle in transaction.'
  return [{ level: 'bad', code: 'claims_unowned', job, message, hint }]
}

const pausing: Judge = ({ job, pause, sweep }, { at }) => {
  if (!pause) return []
  const finding = (level: Finding['level'], code: FindingCode, more = ''): Finding => ({
    level,
    code,
    job,
    message: `${job} was paused ${ago(pause.since, at)} by ${oneLine(pause.author)}: ${oneLine(pause.reason)}${end(pause, at)}${more}`,
    hint: `regrow resume ${job}, when the reason is gone; everything that waits comes back, slowly at first.`,
  })
  const pending = sweep?.pending ?? null
  const grows =
    pause.backlog !== null &&
    pending !== null &&
    pending.count >= pause.backlog + pauseGrowth.rows &&
    pending.count >= pause.backlog * pauseGrowth.factor
  const found: Finding[] = []
  // One that ends by itself is not forgotten.
  if (age(pause.since, at) > pauseOldMs) found.push(finding(pause.until ? 'warn' : 'bad', 'pause_old'))
  const old = pending && ageOf(pending.at, at)
  const now = old === null ? 'are now' : `were ${old} ago, when they were last counted`
  if (grows) found.push(finding('bad', 'pause_grows', `; ${pause.backlog} were pending then, ${pending.count} ${now}`))
  return found.length > 0 ? found : [finding('warn', 'paused')]
}

const end = ({ until }: PauseRow, at: Date) => (until ? `, ends in ${readable(-age(until, at))}` : '')

const quarantine: Judge = ({ job, quarantined }) =>
  quarantined === 0
    ? []
    : [
        {
          level: 'warn',
          code: 'quarantined',
          job,
          message: `${job}: ${quarantined} in quarantine`,
          hint: `regrow quarantine list --job ${job} shows why; release them when the cause is mended.`,
        },
      ]

const progress: Judge = ({ job, noProgress }) =>
  noProgress === 0
    ? []
    : [
        {
          level: 'warn',
          code: 'no_progress',
          job,
          message: `${job}: ${count(noProgress, 'run', 'runs')} ended well, and the pending query still finds the row`,
          hint: 'The handler has to change what the query asks for, in the same transaction. Where rows become pending again, a `version` column tells new work from none done.',
        },
      ]

const waiting: Judge = ({ job, sweep, pause }, { at }) => {
  // As of the last turn: what it saw may be done by now. A paused job's rows wait on purpose.
  const waitedMs = sweep?.oldestAt && sweep.lastSuccessAt && !pause ? age(sweep.oldestAt, sweep.lastSuccessAt) : 0
  if (waitedMs <= waitingMs) return []
  const full = sweep && sweep.dropped > 0 ? '; the queue is full' : ''
  const old = sweep?.lastSuccessAt ? ageOf(sweep.lastSuccessAt, at) : null
  const asOf = old === null ? '' : `, by the sweep of ${old} ago`
  const message = `${job}: a pending row has waited for ${readable(waitedMs)} at least${asOf}${full}`
  const hint = 'More comes than is done, or what waits keeps failing: start more workers, or look at what is retrying.'
  return [{ level: 'warn', code: 'waiting_long', job, message, hint }]
}

function ofWorker({ host, pid, stuck }: WorkerRow): Finding[] {
  if (stuck === 0) return []
  const message = `${oneLine(host)}, pid ${pid}: ${count(stuck, 'slot is', 'slots are')} stuck in handlers that did not end after their timeout`
  return [
    {
      level: 'warn',
      code: 'slots_stuck',
      job: null,
      message,
      hint: 'Start it anew; mend the handlers: they ignore ctx.signal.',
    },
  ]
}

const later = (a: Date, b: Date) => (a > b ? a : b)
const count = (number: number, one: string, many: string) => `${number} ${number === 1 ? one : many}`

/** A finding is one line. */
const oneLine = (text: string | null) => {
  const [line = ''] = (text ?? '').split('\n', 1)
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
