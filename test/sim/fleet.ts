// The processes of a history: each with the real core over its own clock, chance and connections. What dies is started again
// by its supervisor, perhaps with the code of another deploy.
import { z } from 'zod'
import type { App, WorkerHandle } from '../../src/app/app.ts'
import { compose } from '../../src/app/regrow.ts'
import type { QueueDriver } from '../../src/drivers/driver.ts'
import type { EventMap } from '../../src/job/event-map.ts'
import type { Handler } from '../../src/job/handler.ts'
import { keyCodec } from '../../src/job/key.ts'
import { MemoryQueue } from '../../src/queue/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { cast, type Part } from './cast.ts'
import { handlerOf, type Stage } from './handlers.ts'
import type { Kernel } from './kernel.ts'
import { policy } from './oracle.ts'
import type { Plan } from './plan.ts'
import { type Edition, ownLane, recurringParts, recursIn, report, ticks } from './recurring.ts'
import { seededRandom } from './seeded-random.ts'
import { SimProcess } from './sim-process.ts'
import { slotHandlerOf } from './slot-handler.ts'
import type { AppTx } from './store/database.ts'
import type { Tally } from './tally.ts'
import type { Trace } from './trace.ts'
import { type QueueServer, wiredQueue } from './wired-queue.ts'
import { type StoreWays, wiredStore } from './wired-store.ts'

/** A job as the application holds it. */
interface Declared {
  enqueue(item: unknown, options?: object): Promise<{ readonly key: string }>
  handle(run: Handler['run']): Handler
}

export interface Member {
  readonly process: SimProcess
  readonly app: App<AppTx>
  readonly jobs: readonly string[]
  readonly declared: ReadonlyMap<string, Declared>
  readonly handlers: readonly Handler[]
  /** Undefined: it enqueues and works not. */
  readonly worker: WorkerHandle | undefined
  /** Is being stopped, or has been. */
  leaving: boolean
}

export interface FleetSurroundings {
  readonly plan: Plan
  readonly kernel: Kernel
  readonly tally: Tally
  readonly trace: Trace
  readonly store: () => Store<AppTx>
  readonly ways: StoreWays
  /** Undefined: each process has a queue of its own. */
  readonly server: QueueServer | undefined
  readonly stage: () => Stage
  /** Hears what apps tell. */
  readonly told: <Name extends keyof EventMap>(process: SimProcess, event: Name, detail: EventMap[Name]) => void
}

/** One for all processes: making one costs more than all that a process does with it. */
const mailInput = z.object({ deed: z.string() })

const codecs = new Map(cast.map(({ name, key }) => [name, keyCodec(key)]))

export class Fleet {
  readonly members: Member[] = []
  /** Nobody new joins: only what its supervisor restarts. */
  closed = false
  readonly #around: FleetSurroundings

  constructor(around: FleetSurroundings) {
    this.#around = around
  }

  /** Members that work and have not been told to stop. */
  working(): Member[] {
    return this.members.filter(({ worker, leaving, process }) => worker && !leaving && process.state !== 'dead')
  }

  of(process: SimProcess): Member | undefined {
    return this.members.find((member) => member.process === process)
  }

  /** A process that works on these jobs; with none it only enqueues. */
  start(jobs: readonly string[]): Member {
    const { plan, kernel, tally, trace } = this.#around
    const number = this.members.length
    const skew = plan.skews[number % plan.skews.length] ?? { wallMs: 0, rate: 1 }
    if (skew.wallMs !== 0) tally.fault('process with a skewed clock')
    const name = jobs.length > 0 ? `worker${number}` : `web${number}`
    const process = new SimProcess(name, kernel, seededRandom(plan.seed * 1_000 + number), skew)
    trace.tell(name, 'begins', () => jobs.join(' '))
    const app = compose<AppTx>(
      {
        store: wiredStore(process, this.#around.store(), this.#around.ways),
        queue: this.#queue(process),
        lease: plan.leaseMs,
        log: false,
      },
      // What a restart sweeps by itself would hide what nobody else brings back.
      { clock: process.clock, random: process.random, isProduction: () => true },
    )
    app.on('*', (detail, event) => this.#around.told(process, event, detail as never))
    const declared = new Map(cast.map((part) => [part.name, this.#declare(app, part)]))
    const recurs = plan.recurring
      ? this.#recurring(app, process, editionOf(plan.recurring.editions, kernel.now(), number))
      : []
    const handlers = [...jobs.map((job) => this.#handler(process, job, declared)), ...(recursIn(jobs) ? recurs : [])]
    const worker = jobs.length > 0 ? app.work({ handlers, concurrency: plan.concurrency }) : undefined
    worker?.ready.catch(() => {})
    const member: Member = { process, app, jobs, declared, handlers, worker, leaving: false }
    this.members.push(member)
    return member
  }

  /** It is killed, and its supervisor starts another in its place. */
  crash(member: Member, again: { afterMs: number; jobs?: readonly string[] } | null): void {
    const { kernel, trace } = this.#around
    if (member.process.state === 'dead') return
    trace.tell(member.process.name, 'is killed')
    member.process.kill()
    const { closed } = this
    if (again)
      kernel.after(again.afterMs, () => {
        // What died in the storm and was not up again when it ended is dead for ever.
        if (closed === this.closed) this.start(again.jobs ?? member.jobs)
      })
  }

  #queue(process: SimProcess): QueueDriver {
    const { server, plan } = this.#around
    if (server) return wiredQueue(process, server)
    return { kind: 'queue', name: 'memory', open: async () => new MemoryQueue(process.clock, plan.bounds) }
  }

  #declare(app: App<AppTx>, part: Part): Declared {
    const { plan } = this.#around
    const common = {
      sweep: { every: plan.sweepMs },
      retry: { attempts: policy.attemptsMax, delay: policy.backoffMs, maxDelay: policy.backoffMaxMs },
      timeout: part.timeout,
      uniqueUntil: part.uniqueUntil,
      ...(part.many && { batch: 4 }),
    }
    const options = part.input ? { ...common, input: mailInput } : { ...common, key: part.key, pending: part.sql }
    return (app.job as unknown as (name: string, options: object) => Declared)(part.name, options)
  }

  /** Handlers of what recurs, as the code of that edition declares it. */
  #recurring(app: App<AppTx>, process: SimProcess, { schedules }: Edition): Handler[] {
    const { plan } = this.#around
    const declare = app.job as unknown as (name: string, options: object) => Declared
    const retry = { attempts: policy.attemptsMax, delay: policy.backoffMs, maxDelay: policy.backoffMaxMs }
    const common = { sweep: { every: plan.sweepMs }, retry, timeout: '2m' }
    const inputs = declare(report.name, { ...common, input: mailInput })
    return [
      ...ticks.flatMap((part) => {
        if (!schedules[part.name]) return []
        const bound = declare(part.name, { ...common, schedule: schedules[part.name] })
        return bound.handle(slotHandlerOf(this.#around.stage(), process, part))
      }),
      inputs.handle(handlerOf(this.#around.stage(), process, report, keyCodec('uuid'))),
    ]
  }

  #handler(process: SimProcess, job: string, declared: ReadonlyMap<string, Declared>): Handler {
    const part = cast.find(({ name }) => name === job) as Part
    const bound = declared.get(job) as Declared
    const run = handlerOf(
      this.#around.stage(),
      process,
      part,
      codecs.get(job) as NonNullable<ReturnType<typeof keyCodec>>,
    )
    return bound.handle(run)
  }
}

/** The code that a process has: that of the time at which it starts; now and then, of the deploy before. */
function editionOf(editions: readonly Edition[], nowMs: number, number: number): Edition {
  const newest = editions.findLastIndex(({ fromMs }) => fromMs <= nowMs)
  return editions[Math.max(0, number % 5 === 4 ? newest - 1 : newest)] as Edition
}

/** Every job that a worker of these has a handler of. */
export function handledIn(jobs: readonly string[]): readonly string[] {
  return recursIn(jobs) ? [...jobs, ...recurringParts.map(({ name }) => name), ownLane] : [...jobs, ownLane]
}
