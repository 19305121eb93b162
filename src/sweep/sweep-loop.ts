// Lower arrow: wins the turn of jobs whose sweep is due and makes their passes side by side, so that one job's slow or
// broken query stops nobody else. Runs whether the worker is busy or idle (L2).
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import { type Random, spread } from '../base/random.ts'
import { retry } from '../base/retry.ts'
import type { EventMap } from '../job/event-map.ts'
import { fingerprint } from '../job/fingerprint.ts'
import type { Job } from '../job/job.ts'
import { isKeyText } from '../job/key.ts'
import { storable } from '../job/outcome.ts'
import type { Fill, Push } from '../queue/push.ts'
import type { Classify } from '../store/errors.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Audits } from '../store/ledger-audit.ts'
import type { Pauses } from '../store/pauses.ts'
import type { Source } from '../store/source.ts'
import type { Sweeps, Turn, TurnEnd } from '../store/sweeps.ts'
import { turnEnder } from './finish-turns.ts'
import { audit, auditEveryMs } from './ledger-audit.ts'
import { waited } from './oldest-wait.ts'
import { pass } from './pass.ts'
import { type PassResult, pageRows, pageTimeoutMs, unusableTold } from './pass-step.ts'
import { allowedBy } from './ramp.ts'
import { type MakeTurn, WonTurns } from './won-turns.ts'

export interface TurnPorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly sweeps: Sweeps
  readonly classify: Classify
  readonly pauses: Pauses
  readonly ledger: Ledger
  readonly audits: Audits
  readonly push: Push
  readonly fill: Fill
  readonly source: (job: Job) => Source
  readonly jobs: readonly Job[]
  readonly holder: () => string
  /** True when the queue is this process's own: it is empty now, whatever the last sweep of another process pushed. */
  readonly emptyQueue: boolean
  /** True outside production: who restarts a worker to see what changed does not want to wait for a sweep. */
  readonly sweepsAtStart: boolean
  /** Of the queue, as far as this process knows; null: it has none, or nobody knows. */
  readonly epoch: () => number | null
  /** False before the worker is registered: a turn of nobody's could not be ended when it dies. */
  readonly mayBegin: () => boolean
  /** Tells the outside that a sweep of the job succeeded, where its declaration names an address. */
  readonly heartbeat: (job: Job) => void
}

/** How often it is looked whose turn it is: after the end of a pause, while passes are made, and at least, since others may make sweeps due. */
const lookMs = { next: 250, busy: 1_000, idle: 3_000 }
const notYetMs = 20
/** About half a minute: after that the turn has run out. */
const endTries = 9
/** A query that failed once is tried again soon; one that fails again and again, as often as it is swept. */
const firstErrorMs = 10_000

export function sweepLoop(ports: TurnPorts): LoopSpec {
  const { sweeps, pauses, jobs, holder, clock, events } = ports
  const won = new WonTurns(clock)
  const end = turnEnder(clock, sweeps, ports.classify)
  let declared = false
  return {
    name: 'sweep',
    leftOver: () => won.over(),
    async tick(signal) {
      if (!ports.mayBegin()) return notYetMs
      if (!declared) await begin(ports)
      declared = true
      const asked = jobs.filter(({ name }) => !won.has(name)).map(({ name }) => name)
      if (asked.length === 0) return lookMs.next
      const { room } = won
      if (room === 0) {
        await won.place(signal)
        return 0
      }
      const owner = holder()
      const { turns, nextMs, pausesOver, missing } = await sweeps.turn(owner, asked, room)
      // L10: the table was emptied, or restored from before they were declared.
      if (missing.length > 0) {
        await declareSweeps(ports, missing)
        events.emit('declarations.missing', { sweeps: missing, schedules: [] })
      }
      for (const job of pausesOver) if (await pauses.end(job)) events.emit('pause.over', { job })
      const make: MakeTurn = (turn, passed) => makeTurn({ ...ports, end }, { owner, turn, passed }, signal)
      if (await won.begin(turns, make, turns.length === room, signal)) return 0
      if (pausesOver.length > 0 || missing.length > 0) return lookMs.next
      return Math.min(won.idle ? lookMs.idle : lookMs.busy, Math.max(nextMs, 20))
    },
  }
}

/** Every job has its sweep from the first start on, and at once with a new declaration; behind a queue that was born empty, all of them are due. */
async function begin(ports: TurnPorts): Promise<void> {
  const names = ports.jobs.map(({ name }) => name)
  await declareSweeps(ports, names)
  if (ports.emptyQueue) await ports.sweeps.makeDue(names, { anew: true })
}

function declareSweeps({ sweeps, jobs, holder, sweepsAtStart }: TurnPorts, names: readonly string[]): Promise<void> {
  const declared = jobs.flatMap((job) =>
    names.includes(job.name) ? [{ job: job.name, everyMs: job.sweepEveryMs, fingerprint: fingerprint(job) }] : [],
  )
  return sweeps.declare(declared, { holder: holder(), due: sweepsAtStart })
}

interface EndingPorts extends TurnPorts {
  readonly end: ReturnType<typeof turnEnder>
}

/** A turn that `owner` has won; `passed` is called when its pass is over. */
interface Won {
  readonly owner: string
  readonly turn: Turn
  readonly passed: () => void
}

async function makeTurn(ports: EndingPorts, { owner, turn, passed }: Won, signal: AbortSignal): Promise<void> {
  const { clock, random, events, sweeps, jobs } = ports
  const job = jobs.find(({ name }) => name === turn.job) as Job
  const startedAt = clock.now()
  const tookMs = () => clock.now() - startedAt
  const every = spread(random, job.sweepEveryMs, 0.1)
  try {
    let counted = 0
    const advance = async (cursor: string | null, pushed: number) => {
      const kept = await sweeps.advance(owner, turn, cursor, pushed - counted)
      counted = pushed
      return kept
    }
    // A queue that was full may be so still, each second anew; one that is new, or ramped, has nothing for the workers yet.
    const first = turn.full || allowedBy(turn.rampedMs) < pageRows ? 'first' : 'none'
    const start = {
      ...turn,
      cursor: placeOf(job, turn),
      brief: ports.emptyQueue ? 'all' : first,
      epoch: ports.epoch(),
    } as const
    const result = await pass({ ...ports, source: ports.source(job), advance }, job, start, signal)
    const { cursor, seen, pushed, held, unusable, dropped, ended } = result
    const failed = ended === 'failed'
    const finished = ended === 'finished'
    const audited = finished && isAuditDue(turn) && !signal.aborted
    if (audited) await auditLedger(ports, job, signal)
    const waiting = signal.aborted ? { sample: turn.sample } : await backlog(ports, job, turn, result, signal)
    passed()
    const end: TurnEnd = {
      cursor,
      nextMs: nextTurnMs(result, every),
      error: failed ? storable(`The queue took none of its hints: ${messageOf(result.error)}`) : null,
      seen,
      passed: result.passed,
      pushed,
      counted,
      held,
      unusable,
      dropped,
      finished,
      broughtBack: finished || ended === 'full',
      tookMs: tookMs(),
      everyMs: job.sweepEveryMs,
      audited,
      ...waiting,
    }
    const heals = await ports.end(owner, { turn, end })
    if (failed) return events.emit('sweep.failed', { job: job.name, error: result.error })
    const found = { seen, pushed, held, ...unusableTold(unusable) }
    events.emit('sweep.passed', { job: job.name, ...found, finished, tookMs: tookMs() })
    for (const healed of heals) events.emit('queue.healed', healed)
    ports.heartbeat(job)
  } catch (error) {
    passed()
    // What outlasts the grace of a stop may find its store closed: that is no failure of the job's sweep.
    if (!signal.aborted) events.emit('sweep.failed', { job: job.name, error })
    const end = {
      cursor: placeOf(job, turn),
      nextMs: turn.errors > 0 ? every : Math.min(every, firstErrorMs),
      error: storable(messageOf(error)),
      seen: 0,
      pushed: 0,
      held: 0,
      everyMs: job.sweepEveryMs,
    }
    // A store that was away in the middle is told as soon as it is back; at last a turn runs out by itself.
    const again = { delayMs: 250, again: (_: unknown, tries: number) => tries < endTries, signal }
    await retry(clock, random, again, () => ports.end(owner, { turn, end: { ...end, tookMs: tookMs() } })).catch(
      () => {},
    )
  }
}

/** L10: a cursor that is no key of this job was written by somebody else, or for another key: the pass begins anew. */
const placeOf = (job: Job, { cursor }: Turn) => (cursor !== null && isKeyText(job.key, cursor) ? cursor : null)

/** Never audited, long ago, or by a clock that is set back since (L10). */
const isAuditDue = ({ auditedMs }: Turn) => auditedMs === null || auditedMs < 0 || auditedMs >= auditEveryMs

/** What health tells of the rows that wait; a guess that fails is not the sweep's failure. */
async function backlog(ports: TurnPorts, job: Job, turn: Turn, result: PassResult, signal: AbortSignal) {
  const { events } = ports
  const source = ports.source(job)
  try {
    const estimate = result.ended === 'finished' ? null : await source.estimate(pageTimeoutMs)
    if (source.dated) return { estimate, oldestMs: result.oldestMs }
    return { estimate, ...(await waited({ ...ports, source }, job.name, result.rows, turn.sample, turn.atMs)) }
  } catch (error) {
    if (!signal.aborted) events.emit('loop.failed', { loop: 'backlog', job: job.name, error })
    return { sample: turn.sample }
  }
}

/** In the turn of its job, so that one process does it; what fails in it is not the sweep's failure. */
async function auditLedger(ports: TurnPorts, job: Job, signal: AbortSignal): Promise<void> {
  const { events, source } = ports
  try {
    const report = await audit({ ...ports, source: source(job) }, job, signal)
    if (report.forgotten + report.kept > 0) events.emit('ledger.audited', { job: job.name, ...report })
  } catch (error) {
    if (!signal.aborted) events.emit('loop.failed', { loop: 'ledger_audit', job: job.name, error })
  }
}

/** A pass that was cut short goes on soon: at once after its budget, as the queue drains, or is back, when that took no more. */
function nextTurnMs({ ended }: PassResult, everyMs: number): number {
  return ended === 'finished' ? everyMs : ended === 'full' || ended === 'failed' ? Math.min(everyMs, 1_000) : 0
}
