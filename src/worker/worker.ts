// The upper arrow: pop → take → check → run → settle, in batches. This file alone knows the order of the stages.
import { untilAborted } from '../base/abort.ts'
import { Batcher } from '../base/batcher.ts'
import { RegrowError } from '../base/errors.ts'
import type { LoopSpec } from '../base/loop.ts'
import { fingerprintsOf } from '../job/fingerprint.ts'
import type { Handler } from '../job/handler.ts'
import { isCanonical } from '../job/key.ts'
import type { SqlQuery } from '../job/pending.ts'
import type { PoppedHint } from '../queue/hint.ts'
import { begun } from './admit-slots.ts'
import { type AskProgress, aftermath, progressOf } from './after-settle.ts'
import { limitsOf, type SlotReport, Slots } from './capacity.ts'
import { SlotReservation } from './capacity-reservation.ts'
import { check } from './check.ts'
import type { WorkerOptions, WorkerPorts } from './deps.ts'
import { beatLoop } from './heartbeat.ts'
import { Claims } from './held-claims.ts'
import { type Batch, Intake } from './pop.ts'
import { LookAgain } from './recheck.ts'
import { react } from './refusals.ts'
import { type GiveBackPorts, giveBack, release } from './release.ts'
import { Ending, type EndingPorts } from './run/completion.ts'
import { transacts } from './run/ctx-tx.ts'
import { calls } from './run/plan-calls.ts'
import { run } from './run/run.ts'
import { type StartsPorts, start, TxUse } from './run/start-calls.ts'
import { startUnique } from './run/start-unique.ts'
import { Running } from './run/timeouts.ts'
import { settle } from './settle.ts'
import { settleUntilRecorded } from './settle-apart.ts'
import { Solo } from './solo.ts'
import type { Ended, Ready, Refused, Settled, Taken } from './stages.ts'
import { onceEach, type TakenBatch, take } from './take.ts'

/** Keys per settle statement at most: each of them ends with a commit that has to be on disk, one after the other. */
const settleMax = 2_000

export class Worker {
  readonly claims: Claims
  readonly running: Running
  readonly #ports: WorkerPorts
  readonly #options: WorkerOptions
  readonly #intake: Intake
  readonly #slots: Slots
  readonly #solo: Solo
  readonly #back: GiveBackPorts
  /** The pop that is under way, or was last. */
  #popping: Promise<unknown> = Promise.resolve()
  /** Aborts when the worker has stopped: nothing is tried again after that. */
  readonly #over = new AbortController()
  /** Batches between pop and start, and how many of each job. */
  readonly #claiming = new Map<Promise<void>, readonly PoppedHint[]>()
  readonly #claimingOf = new Map<string, number>()
  readonly #slowJobs = new Set<string>()
  readonly #starts: StartsPorts
  readonly #isOurs = (entries: readonly Ready[]) => this.sure() && entries.every(({ take }) => this.claims.holds(take))
  readonly #lookAgain: LookAgain
  readonly #settler: Batcher<Ended, Settled>
  readonly #ask: AskProgress
  readonly #run: Parameters<typeof run>[0]
  readonly #ending: EndingPorts

  constructor(ports: WorkerPorts, options: WorkerOptions) {
    const { clock, events, store } = ports
    this.#ports = ports
    this.#options = options
    this.#slots = new Slots(options.concurrency, limitsOf(options.handlers))
    this.#lookAgain = new LookAgain(clock)
    this.claims = new Claims(ports.random)
    this.#back = { ledger: store.ledger, claims: this.claims, push: ports.push }
    this.#intake = new Intake({
      clock,
      queue: ports.queue,
      slots: this.#slots,
      lookAgain: this.#lookAgain,
      handlers: options.handlers,
      mayStart: () => this.sure() && !this.#solo.holding,
      claiming: (job) => this.#claimingOf.get(job) ?? 0,
      slow: (job) => this.#slowJobs.has(job),
      named: ({ job, many }) =>
        !many && !job.slots && store.ledger.takeThenCheck !== undefined && ports.source(job).checkQuery !== undefined,
      through: (handler, batch, slots) => {
        const claiming = this.#through(handler, batch, slots)
        this.#claiming.set(claiming, batch.hints)
        return claiming.finally(() => this.#claiming.delete(claiming))
      },
    })
    const { concurrency } = options
    this.running = new Running(clock, concurrency, {
      stuck: ({ entries }) => {
        for (const { job, key } of entries) events.emit('job.stuck', { job: job.name, key })
      },
      recycle: (stuck) => events.emit('worker.recycle', { stuck, concurrency }),
    })
    this.#solo = new Solo({
      clock,
      slots: this.#slots,
      push: ports.push,
      stuck: () => this.running.stuckCount,
      popped: async () => void (await this.#popping.catch(() => {})),
      reserve: async ({ job }, hint) =>
        (await take({ ...this.#back, source: null }, job, [hint], { suspects: true })).taken[0],
      run: (handler, hint, entry) => this.#runAlone(handler, hint, entry),
      giveBack: (entry) => giveBack(this.#back, [entry]),
      failed: ({ job }, error) => events.emit('loop.failed', { loop: `worker ${job.name}`, error }),
    })
    const { ledger, sweeps } = store
    this.#ask = progressOf({ ...ports, ledger, sweeps, claims: this.claims, over: this.#over.signal })
    // While one waits for the disk, the next whole batch is on its way.
    this.#settler = new Batcher(clock, settleMax, (batch) => this.#settle(batch), { whole: 1 })
    this.#ending = { settler: this.#settler, claims: this.claims, slots: this.#slots, events }
    const { random, log } = ports
    const transact = transacts({
      clock,
      random,
      ledger: store.ledger,
      claims: this.claims,
      transaction: (fn, options) => store.transaction(fn, options),
      source: ({ job }) => ports.source(job),
      used: (job) => this.#starts.uses.used(job),
    })
    this.#starts = {
      reserve: store.reserve,
      uses: new TxUse(),
      ours: this.#isOurs,
      run: (handler, entries, over) => this.#finish(handler, entries, undefined, over),
    }
    const sure = () => this.sure()
    this.#run = { clock, random, claims: this.claims, running: this.running, events, log, transact, sure }
  }

  loops(): LoopSpec[] {
    const { clock, events, store } = this.#ports
    const { leaseMs, host, pid, handlers } = this.#options
    const jobs = fingerprintsOf(handlers.map(({ job }) => job))
    return [
      beatLoop({
        clock,
        workers: store.workers,
        claims: this.claims,
        stuck: () => this.running.stuckCount,
        leaseMs,
        identity: () => ({ host, pid, jobs }),
        registered: this.#options.registered,
        gone: (holder) => events.emit('worker.gone', { holder }),
      }),
      { name: 'pop', tick: (signal) => this.#pop(signal), stalledAfterMs: 30_000 },
      { name: 'timeouts', tick: async () => this.running.look() },
    ]
  }

  /** Resolves when nothing runs any more, or `signal` aborts. What is stuck was given up: nobody waits for it. */
  async idle(signal: AbortSignal): Promise<void> {
    const busy = () =>
      this.#slots.free + this.running.stuckCount < this.#slots.size || this.claims.known().takes.length > 0
    while (busy() && !signal.aborted) await this.#ports.clock.sleep(10, signal)
  }

  async #pop(signal: AbortSignal): Promise<number> {
    const tick = this.#intake.tick(AbortSignal.any([signal, this.#solo.signal]))
    this.#popping = tick
    return tick
  }

  /** Called when the pops have ended: who waits to run alone begins no more. */
  startNothing(): Promise<void> {
    return this.#solo.stop()
  }

  slots(): SlotReport {
    return this.#slots.report(this.running)
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
    await untilAborted(enough, Promise.allSettled([...this.#claiming.keys()]))
    const entries = this.running.entries()
    await release(this.#back, entries)
    await push(entries.map(({ job, key }) => ({ job: job.name, key, delayMs: 0, fresh: true })))
    await this.#ask.over(enough)
    const late = [...this.#claiming.values()].flat()
    if (late.length > 0) {
      // A beat that knows of no claim gives back all of them.
      await store.workers.beat(this.claims.holder, [], this.claims.known().highest, this.#options.leaseMs)
      await push(late.map((hint) => ({ ...hint, delayMs: 0 })))
    }
    await store.workers.leave(this.claims.holder)
  }

  /** One batch of one job along the arrow. Store errors are nobody's failure: the hints go back. */
  async #through(handler: Handler, { hints: popped, removal }: Batch, slots: number): Promise<void> {
    const { clock, events, push } = this.#ports
    const { name } = handler.job
    const reserved = new SlotReservation({ clock, slots: this.#slots, slow: this.#slowJobs }, name, slots)
    let used = 0
    let hints = popped
    this.#claimingOf.set(name, (this.#claimingOf.get(name) ?? 0) + 1)
    try {
      if (handler.many) hints = await this.#intake.fill(handler, popped)
      const ready = await this.#claim(handler, hints, removal)
      const held = reserved.claimed()
      // Beside a suspect that runs alone nothing starts, also what was popped before it.
      const plan = calls(handler, ready, held + (this.#solo.holding ? 0 : this.#slots.room(name)))
      used = plan.calls.length
      this.#slots.take(Math.max(0, used - held), name)
      const late = await start(this.#starts, handler, plan.calls)
      this.#slots.give(late.length, name)
      // Last, since it may fail: what was taken and neither runs nor is given back would be held for ever (M31).
      const over = [...plan.over, ...late.flat()]
      hints = over.map(({ job, key, fresh }) => ({ job: job.name, key, fresh }))
      await giveBack(this.#back, over, late.length > 0 ? 1_000 : 0)
    } catch (error) {
      events.emit('loop.failed', { loop: `worker ${handler.job.name}`, error })
      await push(hints.map((hint) => ({ ...hint, delayMs: 1_000 })))
    } finally {
      this.#claimingOf.set(name, (this.#claimingOf.get(name) ?? 0) - 1)
      // Also when there is none to give: who waits for room looks again.
      reserved.give(used)
    }
  }

  /** A suspect that has the process to itself. */
  async #runAlone(handler: Handler, hint: PoppedHint, entry: Taken): Promise<void> {
    const { ledger } = this.#ports.store
    const { name } = handler.job
    const taken = { taken: [entry], refused: [], checked: null }
    const [ready] = await this.#checked(handler, [hint], taken)
    if (!ready) return
    const begins = await ledger.alone(this.claims.holder, { job: name, key: ready.key, take: ready.take })
    if (!begins || !this.sure()) return giveBack(this.#back, [ready], 1_000)
    this.#slots.take(1, name)
    await new Promise<void>((resolve) => this.#finish(handler, [ready], resolve))
  }

  /** Take, then check; what may not start is released and gets what its verdict asks for. */
  async #claim(handler: Handler, hints: readonly PoppedHint[], removal: SqlQuery | undefined): Promise<Ready[]> {
    const { source, events } = this.#ports
    const { job } = handler
    const own = hints.filter(({ key }) => isCanonical(job.key, key))
    const foreign = hints.length - own.length
    if (foreign > 0) events.emit('hint.dropped', { count: foreign, why: 'foreign', error: null })
    if (own.length === 0) return []
    const wanted = onceEach(own)
    const taken = await take({ ...this.#back, source: source(job) }, job, wanted, { removal })
    return this.#checked(handler, wanted, taken)
  }

  async #checked(handler: Handler, hints: readonly PoppedHint[], batch: TakenBatch): Promise<Ready[]> {
    try {
      return await this.#check(handler, hints, batch)
    } catch (error) {
      // Whatever failed, nothing of this batch has started: a claim that stays known would be held for ever (M31).
      await release(this.#back, batch.taken).catch(() => {})
      throw error
    }
  }

  /** What may start of a batch that was taken; the rest is released, cleared, hinted and told. */
  async #check(
    handler: Handler,
    hints: readonly PoppedHint[],
    { taken, refused, checked: known }: TakenBatch,
  ): Promise<Ready[]> {
    const { store, source, begin, random } = this.#ports
    const { job } = handler
    const checked = await check(source(job), taken, refused, known)
    const { ready, stopped, renewed, broken } = job.slots
      ? await begun(checked, begin, random)
      : await startUnique(checked, job, store.intents, random)
    if (stopped.length > 0)
      await release(
        this.#back,
        stopped.map(({ entry }) => entry),
      )
    if (renewed.length > 0) await store.ledger.clear(job.name, renewed)
    // New work whoever cleared it: a sweep may have been quicker, and must not leave it to the old version's back-off.
    const anew = new Set(renewed.map(({ key }) => key))
    if (refused.length + stopped.length > 0) {
      const byKey = new Map(hints.map((hint) => [hint.key, hint]))
      await this.#refuse(handler, anew, [
        ...refused.filter(({ hint }) => !anew.has(hint.key)),
        ...stopped.map(({ entry, ...why }) => ({
          ...why,
          hint: byKey.get(entry.key) as PoppedHint,
          ledgerVersion: null,
        })),
      ])
    }
    // Last, since nothing after it may fail: these are settled on their own.
    // No start on a lease that may be over: an event loop that was blocked for a lease wakes up here. Nor with the claim of who
    // we were before: the lease that is sure now may be a new one (S2).
    const sure = this.#isOurs(ready)
    if (!sure) await giveBack(this.#back, ready, 1_000)
    for (const { entry, error } of broken) void this.#settleBroken(entry, error)
    return sure ? ready : []
  }

  /** Tells why hints start nothing, and does what follows; keys in `anew` are new work. */
  async #refuse(handler: Handler, anew: ReadonlySet<string>, refused: readonly Refused[]): Promise<void> {
    const { events, push } = this.#ports
    const { job } = handler
    if (events.heard('hint.refused'))
      for (const { hint, why } of refused) events.emit('hint.refused', { job: job.name, key: hint.key, why })
    const reaction = react(job, refused)
    for (const hint of reaction.lookAgain) this.#lookAgain.add(hint)
    const renewed = [...anew].map((key) => ({ job: job.name, key, delayMs: 0, fresh: true }))
    if (reaction.push.length + renewed.length > 0) await push([...reaction.push, ...renewed])
    if (reaction.suspects.length > 0) await this.#solo.suspects(handler, reaction.suspects)
  }

  /** M36: a key that breaks its own check fails by itself, like a handler that throws. */
  async #settleBroken(entry: Ready, error: unknown): Promise<void> {
    const chance = this.#ports.random.float()
    await this.#settler
      .add([{ entry, outcome: { kind: 'failure', error }, tookMs: 0, settled: false, chance }])
      .catch(() => {})
    this.claims.forget(entry.take)
  }

  /** Run, then settle. */
  #finish(handler: Handler, entries: readonly Ready[], recorded?: () => void, over?: () => void): void {
    run(this.#run, handler, entries, new Ending(this.#ending, handler.job.name, recorded, over))
  }

  async #settle(batch: readonly Ended[]): Promise<Settled[]> {
    const { store, source } = this.#ports
    const send = (part: readonly Ended[]) => settle(store.ledger, this.claims, source, part)
    const { signal: over } = this.#over
    const results = await settleUntilRecorded({ ...this.#ports, claims: this.claims, over, send }, batch)
    await aftermath({ ...this.#ports, ask: this.#ask }, results)
    return results
  }

  /** True while nobody can have declared this worker dead, and it has not left. */
  sure(): boolean {
    return !this.#over.signal.aborted && this.claims.sure(this.#ports.clock.now(), this.#options.leaseMs)
  }
}
