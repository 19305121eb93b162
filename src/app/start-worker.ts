// Starts one worker of this process: waits for the store, makes the worker, and starts the loops around it.
import { pledge } from '../base/deferred.ts'
import type { Events } from '../base/events.ts'
import { retry } from '../base/retry.ts'
import { openedHere } from '../enqueue/after-commit.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler } from '../job/handler.ts'
import { handOver } from '../schedule/runtime-schedules.ts'
import { beginning } from '../schedule/start-slots.ts'
import type { StoreErrors } from '../store/errors.ts'
import type { StartBudget } from '../worker/start-budget.ts'
import { stop } from '../worker/stop.ts'
import { Worker } from '../worker/worker.ts'
import { processLoops, processSignals } from './process-loops.ts'
import type { Opened, Resources } from './resources.ts'
import type { StartedWorker } from './worker-handle.ts'

/** What a worker is to do. */
export interface WorkPlan {
  readonly handlers: readonly Handler[]
  /** Handler calls at a time. */
  readonly concurrency: number
  /** Set for a drain: how much it may start. */
  readonly drain?: StartBudget
}

/** A worker whose loops run, with what a drain asks of it. */
export interface DrainingWorker extends StartedWorker {
  readonly opened: Opened
  readonly worker: Worker
  /** Declares schedules and makes their slots now. */
  auditNow(signal: AbortSignal): Promise<void>
}

/** `leaving` ends the wait for a store that is away. */
export async function startWorker(
  resources: Resources,
  { handlers, concurrency, drain }: WorkPlan,
  leaving: AbortSignal,
): Promise<DrainingWorker> {
  const { clock, random, events, errors, reporter, leaseMs, place } = resources
  // Whoever calls a drain waits for its answer: a store that is away is one.
  const again = drain ? () => false : waitsForStore(events, errors)
  const opening = { delayMs: 500, again, signal: leaving }
  const opened = await retry(clock, random, opening, resources.open)
  // Nobody would stop what begins after this.
  leaving.throwIfAborted()
  const { store, queue, source, push } = opened
  const { promise: registered, resolve, reject } = pledge()
  const signals = processSignals()
  const { schedules, intents } = store
  const recurring = { schedules, intents, clock, random, events, push, leaseMs, queue }
  const worker = new Worker(
    { clock, random, events, log: reporter.log, store, source, queue, push, begin: beginning(recurring) },
    {
      handlers: [...handlers, handOver({ ...recurring, openedHere })],
      concurrency,
      leaseMs,
      ...place,
      drain,
      // Until then nothing may be popped: who waits for that need not wait for the poll.
      registered: () => {
        resolve()
        signals.popNow.fire()
      },
    },
  )
  const jobs = handlers.map(({ job }) => job)
  const loops = processLoops({
    resources,
    opened,
    worker,
    jobs,
    concurrency,
    signals,
    drains: !!drain,
    refused: reject,
  })
  loops.start()
  return {
    ...{ registered, opened, worker, auditNow: loops.auditNow },
    loops: () => loops.report(),
    capacity: () => worker.capacity(),
    stop: (graceMs, now) => stop(clock, loops, worker, graceMs, now),
    abandon: () => loops.stop(),
  }
}

/** A worker that finds its store away at the start waits for it; one that finds a mistake says so and ends. */
const waitsForStore = (events: Events<EventMap>, errors: StoreErrors) => (error: unknown) => {
  const waits = errors.isAway(error)
  if (waits) events.emit('loop.failed', { loop: 'open', error })
  return waits
}
