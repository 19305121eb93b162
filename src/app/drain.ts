// `app.drain`: a worker that sweeps and pops by itself until nothing is due, and leaves. It holds its claims like any other worker:
// others may work beside it, and it may die. In: what it may do. Out: what it did.
import { untilAborted } from '../base/abort.ts'
import { milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import { closedError } from '../base/life.ts'
import type { EventMap } from '../job/event-map.ts'
import { isOwn } from '../job/job.ts'
import { type SweepReport, sweepOnDemand } from '../sweep/run-sweep.ts'
import { StartBudget } from '../worker/start-budget.ts'
import type { DrainOptions, DrainReport } from './app.ts'
import { readWork } from './options.ts'
import type { Resources } from './resources.ts'
import { type DrainingWorker, startWorker } from './start-worker.ts'

const graceDefault = '25s'
/** Waits for runs to end, and for what they enqueue: short at first, since most runs are. */
const restMs = { least: 2, most: 100 }
/**
 * A key that succeeds and stays pending is due again with every sweep. Steps that lead from one state to the next look the same; after
 * so many a drain takes it for a row that never changes, and leaves it to the workers.
 */
const noProgressMax = 10

export async function drain(resources: Resources, options: DrainOptions): Promise<DrainReport> {
  const { clock, registry, life, errors } = resources
  registry.verify()
  const { forMs, graceMs, budget, ...plan } = readDrain(options, resources)
  const startedAt = clock.now()
  const over = new AbortController()
  const stopTimer = forMs === null ? () => {} : clock.after(forMs, () => over.abort())
  const tally = new Tally()
  const events = resources.events.part((detail, name) => tally.hear(name, detail))
  const work = async (): Promise<DrainReport['ended']> => {
    if (life.closing) throw closedError()
    const own = { ...resources, events }
    const worker = await startWorker(own, { ...plan, drain: budget }, new AbortController().signal)
    try {
      await untilAborted(over.signal, worker.registered)
      return await rounds(own, { worker, budget, tally, names: plan.handlers.map(({ job }) => job.name) }, over.signal)
    } finally {
      await worker.stop(graceMs, new AbortController().signal)
    }
  }
  const worked = work()
  const forget = life.add(() => {
    over.abort()
    return worked
  })
  try {
    const ended = await worked
    return { ...tally.counts(), ended, tookMs: Math.round(clock.now() - startedAt) }
  } catch (error) {
    throw errors.told(error)
  } finally {
    stopTimer()
    forget()
  }
}

interface DrainParts {
  readonly worker: DrainingWorker
  readonly budget: StartBudget
  readonly tally: Tally
  readonly names: readonly string[]
}

/** A round sweeps, then runs what is due. What ran may have written rows that nobody enqueued: the next round looks for them. */
async function rounds(resources: Resources, parts: DrainParts, over: AbortSignal): Promise<DrainReport['ended']> {
  const { worker, tally, names } = parts
  const { opened } = worker
  const holder = () => worker.worker.claims.holder
  const sweeping = { ...resources, ...opened, jobs: resources.registry.jobs(), holder }
  for (;;) {
    const before = tally.news
    if (!over.aborted) await worker.auditNow(over)
    tally.swept(over.aborted ? [] : await sweepOnDemand(sweeping, { jobs: names, signal: over }))
    const ended = await runDue(resources, parts, over)
    if (ended !== null) return ended
    if (tally.news === before) return 'idle'
  }
}

/** Runs what has a hint that is due, until nothing has and nothing runs; null then. */
async function runDue(
  { clock }: Resources,
  { worker: { worker }, budget }: DrainParts,
  over: AbortSignal,
): Promise<'timeout' | 'max' | null> {
  let waitMs = restMs.least
  for (;;) {
    if (over.aborted) return 'timeout'
    // Before the pop: what ended after it may have pushed a hint that the pop did not see.
    const wasBusy = worker.busy
    if (budget.spent && !wasBusy) return 'max'
    const found = budget.spent ? 'waiting' : await worker.popDue(over)
    if (found === 'nothing' && !wasBusy && !worker.busy) return null
    waitMs = found === 'began' ? restMs.least : Math.min(waitMs * 2, restMs.most)
    if (found !== 'began') await clock.sleep(waitMs, over)
  }
}

/** What this drain did, by the events of its worker. */
class Tally {
  /** Outcomes after which something new may be due. */
  news = 0
  readonly #noProgress = new Map<string, number>()
  readonly #sweepsFailed = new Set<string>()
  readonly #counts = { runs: 0, succeeded: 0, failed: 0, quarantined: 0, swept: 0 }

  hear(name: string, detail: EventMap[keyof EventMap]): void {
    if (name === 'job.started') this.#started(detail as EventMap['job.started'])
    else if (name === 'job.settled') this.#settled(detail as EventMap['job.settled'])
    else if (name === 'job.no_progress') this.#stayed(detail as EventMap['job.no_progress'])
  }

  swept(reports: readonly SweepReport[]): void {
    for (const { job, pushed, error } of reports) {
      this.#counts.swept += pushed
      if (error === null) this.#sweepsFailed.delete(job)
      else this.#sweepsFailed.add(job)
    }
  }

  counts(): Omit<DrainReport, 'ended' | 'tookMs'> {
    return { ...this.#counts, sweepsFailed: [...this.#sweepsFailed] }
  }

  #started({ job }: EventMap['job.started']): void {
    if (!isOwn(job)) this.#counts.runs++
  }

  #settled({ job, state, error }: EventMap['job.settled']): void {
    this.news++
    if (isOwn(job)) return
    if (state === 'done') this.#counts.succeeded++
    else if (state === 'quarantined') this.#counts.quarantined++
    else if (error !== null) this.#counts.failed++
  }

  /** Its row is as it was. With a version that is recorded as a failure. */
  #stayed({ job, key, why }: EventMap['job.no_progress']): void {
    const id = JSON.stringify([job, key])
    const times = (this.#noProgress.get(id) ?? 0) + 1
    this.#noProgress.set(id, times)
    if (why === 'same_version') {
      this.#counts.succeeded--
      this.#counts.failed++
    } else if (times >= noProgressMax) this.news--
  }
}

function readDrain(options: DrainOptions, { registry }: Resources) {
  const where = 'drain()'
  const known = ['for', 'max', 'grace', 'handlers', 'concurrency', 'only', 'except']
  const plan = readWork(options, registry.inlineHandlers(), registry.jobs(), { where, known })
  const { max, grace = graceDefault } = options
  if (max !== undefined && !(Number.isInteger(max) && max >= 1))
    throw new RegrowError(
      'bad_options',
      `${where}: \`max\` is ${String(max)}; expected a whole number from 1`,
      'Leave it out for a drain without a limit.',
    )
  return {
    ...plan,
    budget: new StartBudget(max ?? Number.POSITIVE_INFINITY),
    forMs: options.for === undefined ? null : milliseconds(options.for, `${where}: \`for\``),
    graceMs: milliseconds(grace, `${where}: \`grace\``),
  }
}
