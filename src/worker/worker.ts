// A worker's life: its loops, what it holds, and how it gives that back. What becomes of popped hints is in pipeline.ts.
import { untilAborted } from '../base/abort.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import { fingerprintsOf } from '../job/fingerprint.ts'
import { type CapacityReport, limitsOf, Slots } from './capacity.ts'
import type { WorkerOptions, WorkerPorts } from './deps.ts'
import { beatLoop } from './heartbeat.ts'
import { Claims } from './held-claims.ts'
import { OpenBatches } from './open-batches.ts'
import { Pipeline } from './pipeline.ts'
import { Intake } from './pop.ts'
import { LookAgain } from './recheck.ts'
import { type GiveBackPorts, release } from './release.ts'
import { Running } from './run/timeouts.ts'
import { StartBudget } from './start-budget.ts'

export class Worker {
  readonly claims: Claims
  readonly running: Running
  readonly #ports: WorkerPorts
  readonly #options: WorkerOptions
  readonly #intake: Intake
  readonly #slots: Slots
  readonly #pipeline: Pipeline
  readonly #back: GiveBackPorts
  readonly #open = new OpenBatches()
  /** The pop that is under way, or was last. */
  #popping: Promise<unknown> = Promise.resolve()
  /** Aborts when the worker has stopped: nothing is tried again after that. */
  readonly #over = new AbortController()

  constructor(ports: WorkerPorts, options: WorkerOptions) {
    const { clock, events, store } = ports
    const { concurrency, handlers } = options
    this.#ports = ports
    this.#options = options
    this.claims = new Claims(ports.random)
    this.#slots = new Slots(concurrency, limitsOf(handlers))
    this.#back = { ledger: store.ledger, claims: this.claims, push: ports.push }
    this.running = new Running(clock, concurrency, {
      stuck: ({ entries }) => {
        for (const { job, key } of entries) events.emit('job.stuck', { job: job.name, key })
      },
      recycle: (stuck) => events.emit('worker.recycle', { stuck, concurrency }),
    })
    const claimsAtOnce = store.ledger.oneTrip !== undefined
    const shared = {
      slots: this.#slots,
      recheck: new LookAgain(clock, options.drain && []),
      slowJobs: new Set<string>(),
    }
    const budget = options.drain ?? new StartBudget(Number.POSITIVE_INFINITY)
    this.#pipeline = new Pipeline({
      ...shared,
      ports,
      claims: this.claims,
      running: this.running,
      open: this.#open,
      budget,
      sure: () => this.sure(),
      popped: async () => void (await this.#popping.catch(() => {})),
      over: this.#over.signal,
    })
    this.#intake = new Intake({
      clock,
      queue: ports.queue,
      slots: this.#slots,
      lookAgain: shared.recheck,
      handlers,
      mayStart: () => this.sure() && !this.#pipeline.solo.holding && !budget.spent,
      claiming: (job) => this.#open.of(job),
      slow: (job) => shared.slowJobs.has(job),
      receipts: ({ job }) => job.batch === null && !job.slots && claimsAtOnce && ports.source(job).redeems === true,
      through: (handler, batch, slots) =>
        this.#open.track(handler.job.name, batch.hints, () => this.#pipeline.process(handler, batch, slots)),
    })
  }

  loops(): { beat: LoopSpec; pop: LoopSpec; timeouts: LoopSpec } {
    const { clock, events, store } = this.#ports
    const { leaseMs, host, pid, handlers } = this.#options
    const jobs = fingerprintsOf(handlers.map(({ job }) => job))
    return {
      beat: beatLoop({
        clock,
        workers: store.workers,
        claims: this.claims,
        stuck: () => this.running.stuckCount,
        leaseMs,
        identity: () => ({ host, pid, jobs }),
        registered: this.#options.registered,
        gone: (holder) => events.emit('worker.gone', { holder }),
      }),
      pop: { name: 'pop', tick: (signal) => this.#pop(signal), stalledAfterMs: 30_000 },
      timeouts: { name: 'timeouts', tick: async () => this.running.look() },
    }
  }

  /** True while no other process can have declared this worker dead, and it has not left. */
  sure(): boolean {
    return !this.#over.signal.aborted && this.claims.sure(this.#ports.clock.now(), this.#options.leaseMs)
  }

  capacity(): CapacityReport {
    return this.#slots.report(this.running)
  }

  /** Begins what is due now, without a wait for more. */
  popDue(signal: AbortSignal): Promise<'began' | 'waiting' | 'nothing'> {
    const popped = this.#intake.popDue(signal)
    this.#popping = popped
    return popped
  }

  /** Something runs, is on its way to that, or is being recorded. Stuck handlers were given up and do not count. */
  get busy(): boolean {
    const { solo, progress } = this.#pipeline
    const runs = this.#slots.free + this.running.stuckCount < this.#slots.size
    return runs || solo.holding || !progress.idle || this.claims.known().takes.length > 0
  }

  /** Called when the pops have ended: what waits to run alone does not begin. */
  startNothing(): Promise<void> {
    return this.#pipeline.solo.stop()
  }

  /** Resolves when nothing runs, or `signal` aborts. Stuck handlers were given up and do not count. */
  async idle(signal: AbortSignal): Promise<void> {
    const busy = () =>
      this.#slots.free + this.running.stuckCount < this.#slots.size || this.claims.known().takes.length > 0
    while (busy() && !signal.aborted) await this.#ports.clock.sleep(10, signal)
  }

  abortAll(): void {
    this.running.abortAll(
      new RegrowError('stopping', 'The worker stops', 'The key is given back and starts again elsewhere.'),
    )
  }

  /**
   * Gives back what still runs, and hints it: it was running, so it goes ahead of what only waits. Nothing is counted. What is between
   * pop and start comes back by itself, since nothing starts any more (M24); what has not when `enough` aborts is given back, too.
   */
  async giveBack(enough: AbortSignal): Promise<void> {
    const { push, store } = this.#ports
    this.#over.abort()
    await untilAborted(enough, this.#open.settled())
    const entries = this.running.entries()
    await release(this.#back, entries)
    await push(entries.map(({ job, key }) => ({ job: job.name, key, delayMs: 0, fresh: true })))
    await this.#pipeline.progress.over(enough)
    const late = this.#open.hints()
    if (late.length > 0) {
      // A beat that knows of no claim gives back all of them.
      await store.workers.beat(this.claims.holder, [], this.claims.known().highest, this.#options.leaseMs)
      await push(late.map((hint) => ({ ...hint, delayMs: 0 })))
    }
    const { drain, handlers } = this.#options
    await store.workers.leave(this.claims.holder, drain && handlers.map(({ job }) => job.name))
  }

  async #pop(signal: AbortSignal): Promise<number> {
    const tick = this.#intake.tick(AbortSignal.any([signal, this.#pipeline.solo.signal]))
    this.#popping = tick
    return tick
  }
}
