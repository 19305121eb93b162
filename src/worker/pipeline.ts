// The upper arrow after the pop: claim → run → settle, in batches. This file alone knows the order of the stages.
import { Batcher } from '../base/batcher.ts'
import type { Handler } from '../job/handler.ts'
import { isCanonical } from '../job/key.ts'
import type { Receipt } from '../job/receipt.ts'
import type { PoppedHint } from '../queue/hint.ts'
import { begun } from './admit-slots.ts'
import { type AskProgress, aftermath, progressOf } from './after-settle.ts'
import type { Slots } from './capacity.ts'
import { SlotReservation } from './capacity-reservation.ts'
import { claimHints, onceEach, sortChecked, takeSuspect } from './claim.ts'
import type { WorkerPorts } from './deps.ts'
import type { Claims } from './held-claims.ts'
import type { OpenBatches } from './open-batches.ts'
import { type Batch, fillBatch } from './pop.ts'
import type { LookAgain } from './recheck.ts'
import { react } from './refusals.ts'
import { type GiveBackPorts, giveBack, release } from './release.ts'
import { Ending, type EndingPorts } from './run/completion.ts'
import { transacts } from './run/ctx-tx.ts'
import { calls } from './run/plan-calls.ts'
import { run } from './run/run.ts'
import { type StartsPorts, start, TxUse } from './run/start-calls.ts'
import { startUnique } from './run/start-unique.ts'
import type { Running } from './run/timeouts.ts'
import { settle } from './settle.ts'
import { settleUntilRecorded } from './settle-apart.ts'
import { Solo } from './solo.ts'
import type { CheckedBatch, Ended, Ready, Refused, Settled, Taken } from './stages.ts'
import type { StartBudget } from './start-budget.ts'

/** Keys per settle statement at most: each of them ends with a commit that has to be on disk, one after the other. */
const settleMax = 2_000

/** What the pipeline shares with the worker around it. */
export interface PipelineParts {
  readonly ports: WorkerPorts
  readonly claims: Claims
  readonly slots: Slots
  readonly running: Running
  readonly recheck: LookAgain
  readonly open: OpenBatches
  readonly budget: StartBudget
  /** Jobs whose last claim took long. */
  readonly slowJobs: Set<string>
  /** True while no other process can have declared this worker dead, and it has not left. */
  readonly sure: () => boolean
  /** Resolves when no pop is under way that could start something. */
  readonly popped: () => Promise<void>
  /** Aborts when the worker has stopped: nothing is tried again after that. */
  readonly over: AbortSignal
}

export class Pipeline {
  readonly solo: Solo
  readonly progress: AskProgress
  readonly #parts: PipelineParts
  readonly #back: GiveBackPorts
  readonly #starts: StartsPorts
  readonly #settler: Batcher<Ended, Settled>
  readonly #run: Parameters<typeof run>[0]
  readonly #ending: EndingPorts

  constructor(parts: PipelineParts) {
    const { ports, claims, slots, running, sure, over } = parts
    const { clock, random, events, log, store, source, push } = ports
    this.#parts = parts
    this.#back = { ledger: store.ledger, claims, push }
    this.solo = new Solo({
      clock,
      slots,
      push,
      stuck: () => running.stuckCount,
      popped: parts.popped,
      reserve: ({ job }, hint) => takeSuspect(this.#back, job, hint),
      run: (handler, hint, entry) => this.#runAlone(handler, hint, entry),
      giveBack: (entry) => giveBack(this.#back, [entry]),
      failed: ({ job }, error) => events.emit('loop.failed', { loop: 'claim', job: job.name, error }),
    })
    const { ledger, sweeps, classify } = store
    this.progress = progressOf({ ...ports, ledger, sweeps, classify, claims, over })
    // While one waits for the disk, the next whole batch is on its way.
    this.#settler = new Batcher(clock, settleMax, (batch) => this.#settle(batch), { whole: 1 })
    this.#ending = { settler: this.#settler, claims, slots, events }
    const transact = transacts({
      clock,
      random,
      ledger,
      claims,
      classify,
      transaction: (fn, options) => store.transaction(fn, options),
      source: ({ job }) => source(job),
      used: (job) => this.#starts.uses.used(job),
    })
    this.#starts = {
      reserve: store.connections.reserve,
      uses: new TxUse(),
      ours: (entries) => this.#isOurs(entries),
      run: (handler, entries, over) => this.#finish(handler, entries, undefined, over),
    }
    this.#run = { clock, random, claims, running, events, log, transact, sure }
  }

  /** One batch of one job along the arrow. Store errors are nobody's failure: the hints go back. */
  async process(handler: Handler, { hints: popped, receipt }: Batch, reservedSlots: number): Promise<void> {
    const { ports, slots, slowJobs, open, budget } = this.#parts
    const { clock, events, push, queue } = ports
    const { name } = handler.job
    const reserved = new SlotReservation({ clock, slots, slow: slowJobs }, name, reservedSlots)
    let used = 0
    let hints = popped
    try {
      if (handler.job.batch !== null) hints = await fillBatch(queue, handler, popped)
      const ready = await this.#claim(handler, hints, receipt)
      const held = reserved.claimed()
      // While a suspect runs alone nothing else starts, not even what was popped before it.
      const allowed = budget.take(ready.length)
      const plan = calls(
        handler,
        allowed < ready.length ? ready.slice(0, allowed) : ready,
        held + (this.solo.holding ? 0 : slots.room(name)),
      )
      used = plan.calls.length
      slots.take(Math.max(0, used - held), name)
      const late = await start(this.#starts, handler, plan.calls)
      slots.give(late.length, name)
      // Last, since it may fail: what was taken and neither runs nor is given back would be held for ever (M31).
      const unused = [...plan.over, ...late.flat()]
      budget.give(unused.length)
      const leftOver = [...unused, ...ready.slice(allowed)]
      hints = leftOver.map(({ job, key, fresh }) => ({ job: job.name, key, fresh }))
      await giveBack(this.#back, leftOver, late.length > 0 ? 1_000 : 0)
    } catch (error) {
      events.emit('loop.failed', { loop: 'claim', job: name, error })
      await push(hints.map((hint) => ({ ...hint, delayMs: 1_000 })))
    } finally {
      open.done(name)
      // Even when there is none to give: it wakes what waits for room.
      reserved.give(used)
    }
  }

  /** Takes and checks; what may not start is released, and its hint gets what its verdict asks for. */
  async #claim(handler: Handler, hints: readonly PoppedHint[], receipt: Receipt | undefined): Promise<Ready[]> {
    const { ports, claims } = this.#parts
    const { source, events, store } = ports
    const { job } = handler
    const own = hints.filter(({ key }) => isCanonical(job.key, key))
    const foreign = hints.length - own.length
    if (foreign > 0) events.emit('hint.dropped', { count: foreign, why: 'foreign', error: null })
    if (own.length === 0) return []
    const wanted = onceEach(own)
    const batch = await claimHints({ claims, claim: store.claim }, job, source(job), wanted, receipt)
    return this.#admit(handler, wanted, batch)
  }

  /** A suspect that has the process to itself. */
  async #runAlone(handler: Handler, hint: PoppedHint, entry: Taken): Promise<void> {
    const { ports, claims, slots, sure } = this.#parts
    const { store, source } = ports
    const { job } = handler
    const checked = await source(job)
      .check([entry.key])
      .catch(async (error: unknown) => {
        await release(this.#back, [entry]).catch(() => {})
        throw error
      })
    const [ready] = await this.#admit(handler, [hint], sortChecked([entry], [], checked))
    if (!ready) return
    const begins = await store.ledger.alone(claims.holder, { job: job.name, key: ready.key, take: ready.take })
    if (!begins || !sure() || this.#parts.budget.take(1) === 0) return giveBack(this.#back, [ready], 1_000)
    slots.take(1, job.name)
    await new Promise<void>((resolve) => this.#finish(handler, [ready], resolve))
  }

  /** What may start of a checked batch; the rest is released, cleared, hinted and reported. */
  async #admit(handler: Handler, hints: readonly PoppedHint[], checked: CheckedBatch): Promise<Ready[]> {
    const { store, begin, random } = this.#parts.ports
    const { job } = handler
    let batch = checked
    try {
      batch = job.slots ? await begun(checked, begin, random) : await startUnique(checked, job, store.intents, random)
      await this.#refuse(handler, hints, batch)
    } catch (error) {
      // Whatever failed, nothing of this batch has started: a claim that stays known would be held for ever (M31).
      await release(this.#back, takenIn(batch)).catch(() => {})
      throw error
    }
    const { ready, broken } = batch
    // Last, since nothing after it may fail: these are settled on their own.
    // No start on a lease that may be over: an event loop that was blocked for a lease wakes up here. Nor with the claim of who
    // we were before: the lease that is sure now may be a new one (S2).
    const isOurs = this.#isOurs(ready)
    if (!isOurs) await giveBack(this.#back, ready, 1_000)
    for (const { entry, error } of broken) void this.#settleBroken(entry, error)
    return isOurs ? ready : []
  }

  /** Releases what may not start, clears what is new work, and does what follows for their hints. */
  async #refuse(
    handler: Handler,
    hints: readonly PoppedHint[],
    { stopped, renewed, refused }: CheckedBatch,
  ): Promise<void> {
    const { ports, recheck } = this.#parts
    const { store, events, push } = ports
    const { job } = handler
    if (stopped.length > 0)
      await release(
        this.#back,
        stopped.map(({ entry }) => entry),
      )
    if (renewed.length > 0) await store.ledger.clear(job.name, renewed)
    if (refused.length + stopped.length + renewed.length === 0) return
    const byKey = new Map(hints.map((hint) => [hint.key, hint]))
    const all: Refused[] = [
      ...refused,
      ...stopped.map(({ entry, ...why }) => ({
        ...why,
        hint: byKey.get(entry.key) as PoppedHint,
        ledgerVersion: null,
      })),
    ]
    if (events.heard('hint.refused'))
      for (const { hint, why } of all) events.emit('hint.refused', { job: job.name, key: hint.key, why })
    const reaction = react(job, all)
    for (const hint of reaction.lookAgain) recheck.add(hint)
    // New work whoever cleared it: a sweep may have been quicker, and must not leave it to the old version's back-off.
    const anew = renewed.map(({ key }) => ({ job: job.name, key, delayMs: 0, fresh: true }))
    if (reaction.push.length + anew.length > 0) await push([...reaction.push, ...anew])
    if (reaction.suspects.length > 0) await this.solo.suspects(handler, reaction.suspects)
  }

  /** M36: a key that breaks its own check fails by itself, like a handler that throws. */
  async #settleBroken(entry: Ready, error: unknown): Promise<void> {
    const { ports, claims } = this.#parts
    const chance = ports.random.float()
    await this.#settler
      .add([{ entry, outcome: { kind: 'failure', error }, tookMs: 0, settled: false, chance }])
      .catch(() => {})
    claims.forget(entry.take)
  }

  /** Run, then settle. */
  #finish(handler: Handler, entries: readonly Ready[], recorded?: () => void, over?: () => void): void {
    run(this.#run, handler, entries, new Ending(this.#ending, handler.job.name, recorded, over))
  }

  async #settle(batch: readonly Ended[]): Promise<Settled[]> {
    const { ports, claims, over } = this.#parts
    const send = (part: readonly Ended[]) => settle(ports.store.ledger, claims, ports.source, part)
    const results = await settleUntilRecorded({ ...ports, classify: ports.store.classify, claims, over, send }, batch)
    await aftermath({ ...ports, ask: this.progress }, results)
    return results
  }

  #isOurs(entries: readonly Ready[]): boolean {
    const { claims, sure } = this.#parts
    return sure() && entries.every(({ take }) => claims.holds(take))
  }
}

const takenIn = ({ ready, stopped, broken }: CheckedBatch): Taken[] => [
  ...ready,
  ...stopped.map(({ entry }) => entry),
  ...broken.map(({ entry }) => entry),
]
