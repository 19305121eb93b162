// The composition root: wires both arrows to a store and a queue. Nothing is opened before first use.
import type { QueueDriver, StoreDriver } from './backends/driver.ts'
import { type Clock, systemClock } from './base/clock.ts'
import { Events } from './base/events.ts'
import { loop } from './base/loop.ts'
import { type Random, systemRandom } from './base/random.ts'
import { enqueue } from './enqueue/enqueue.ts'
import type { EventMap } from './job/event-map.ts'
import { type Job, type JobOptions, readJob } from './job/job.ts'
import type { Pushed } from './queue/hint.ts'
import { pushDoor } from './queue/push.ts'
import { freeLoop } from './sweep/free.ts'
import { sweepLoop } from './sweep/turn.ts'
import { Worker } from './worker/worker.ts'

/** Options of an app. */
export interface AppOptions {
  /** The truth: `pglite(directory)`. */
  store: StoreDriver
  /** The view. Defaults to the store's own: memory beside PGlite. */
  queue?: QueueDriver
  /** Milliseconds that a worker may be silent before its claims are freed. Defaults to 15 s. */
  lease?: number
}

/** A job in the user's hands. */
export interface DeclaredJob {
  /** Runs the key soon. Only for speed: the pending query is the guarantee. */
  enqueue(key: string): Promise<Pushed>
}

/** A worker of this process. */
export interface WorkerHandle {
  /** Resolves when the store is open and the loops run. */
  readonly ready: Promise<void>
  /** Ends the loops. What still runs may settle until its lease is over; then it is freed like that of the dead. */
  stop(): Promise<void>
}

export interface App {
  /** Declares a job; declaring binds it to the app, there is no list to forget. */
  job(name: string, options: JobOptions): DeclaredJob
  /** Runs handlers, `concurrency` at a time. Defaults to 10. */
  work(options?: { concurrency?: number }): WorkerHandle
  /** Brings regrow's tables up to date; every first use does so too. */
  migrate(): Promise<void>
  on: Events<EventMap>['on']
  /** Closes the store. Stop workers first. */
  close(): Promise<void>
}

/** Makes an app. It opens nothing. */
export const regrow = (options: AppOptions): App => compose(options, { clock: systemClock, random: systemRandom })

/** `regrow` with a clock and a source of chance of one's own. */
export function compose(options: AppOptions, { clock, random }: { clock: Clock; random: Random }): App {
  const { lease: leaseMs = 15_000 } = options
  const events = new Events<EventMap>()
  const failed = (loop: string, error: unknown) => events.emit('loop.failed', { loop, error })
  const jobs: Job[] = []
  const open = async () => {
    const { store, defaultQueue } = await options.store.open({ clock })
    await store.migrate()
    const queue = (await options.queue?.open({ clock })) ?? defaultQueue()
    return { store, queue, push: pushDoor(queue, events) }
  }
  let opening: ReturnType<typeof open> | undefined
  const opened = () => (opening ??= open())

  return {
    job: (name, given) => {
      const job = readJob(name, given)
      jobs.push(job)
      return { enqueue: async (key) => enqueue((await opened()).push, job, key) }
    },
    work: ({ concurrency = 10 } = {}) => {
      const stop = new AbortController()
      const started = opened().then(({ store, queue, push }) => {
        const worker = new Worker({ clock, random, events, store, queue, push, jobs, leaseMs, concurrency })
        const holder = () => worker.claims.holder
        const specs = [
          ...worker.loops(),
          freeLoop(store.workers, push, leaseMs),
          sweepLoop({ clock, random, failed, store, push, jobs, holder }),
        ]
        return specs.map((spec) => loop(spec, { clock, random, failed }, stop.signal))
      })
      return {
        ready: started.then(() => {}),
        stop: async () => {
          stop.abort()
          await Promise.all(await started)
        },
      }
    },
    migrate: async () => void (await opened()),
    on: events.on.bind(events),
    close: async () => (await opened()).store.close(),
  }
}
