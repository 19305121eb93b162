// One simulated world: kernel, network, store, queue, processes, users and the oracle that watches them, wired.
import type { Random } from '../../src/base/random.ts'
import type { EventMap } from '../../src/job/event-map.ts'
import { type Slot, slotCodec } from '../../src/job/schedule.ts'
import { type Deed, mail, modelQueries, type Part, partOf } from './cast.ts'
import { Fleet, handledIn } from './fleet.ts'
import type { Stage } from './handlers.ts'
import { Hostile } from './hostile.ts'
import { Kernel } from './kernel.ts'
import { Losses } from './losses.ts'
import { Network } from './network.ts'
import { Oracle } from './oracle.ts'
import { Outcomes } from './outcomes.ts'
import { Draw, type Plan } from './plan.ts'
import { SimQueue } from './queue/sim-queue.ts'
import { ownLane, recurringPartOf, report, slotDeed } from './recurring.ts'
import { seededRandom } from './seeded-random.ts'
import { beginningMs, type SimProcess } from './sim-process.ts'
import { lookAtStart, type StartsSurroundings } from './starts.ts'
import { SimDatabase } from './store/database.ts'
import { Tally } from './tally.ts'
import { TimetableWatch } from './timetable-watch.ts'
import { Trace } from './trace.ts'
import type { Truth } from './truth.ts'
import { UniqueWatch } from './unique-watch.ts'
import { User } from './user.ts'
import type { QueueServer } from './wired-queue.ts'
import type { StoreEar } from './wired-store.ts'

/** What an app told, and when. */
export interface Told {
  readonly process: SimProcess
  readonly event: keyof EventMap
  readonly detail: unknown
  readonly atMs: number
}

export class SimWorld {
  readonly plan: Plan
  readonly kernel: Kernel
  readonly tally = new Tally()
  readonly trace: Trace
  readonly network: Network
  readonly db: Truth
  readonly server: QueueServer | undefined
  readonly hostile = new Hostile(this)
  readonly oracle: Oracle
  readonly timetable: TimetableWatch
  /** How far the store's clock is ahead of the world's; negative: it was set back. */
  aheadMs = 0
  readonly unique: UniqueWatch
  /** Set when the storm is over: handlers of slots are all well then. */
  calm = false
  readonly fleet: Fleet
  readonly user: User
  readonly draw: Draw
  /** Events of the queue: lost, healed, down, up. */
  readonly told: Told[] = []
  /** By job, when the last push was sent that reached the server. */
  readonly lastPushMs = new Map<string, number>()
  readonly #tries = new Map<string, number>()
  #effects = 0

  /** `keep`: lines of the story to keep. `truth`: its database, in the time of its kernel; left out, the model. */
  constructor(plan: Plan, keep: number, kernel = kernelOf(plan), truth?: Truth) {
    const random = (stream: number): Random => streamOf(plan, stream)
    this.plan = plan
    this.kernel = kernel
    const { tally } = this
    this.trace = new Trace(kernel.now, keep)
    this.network = new Network(kernel, random(2), tally, this.trace)
    this.draw = new Draw(random(3))
    this.db = truth ?? Object.assign(new SimDatabase(() => this.nowMs(), modelQueries), { oneConnection: false })
    this.server = plan.sharedQueue ? this.#server() : undefined
    const deedOf = (job: string, key: string) => this.#deedOf(job, key)
    this.oracle = new Oracle({
      now: kernel.now,
      storeMs: () => this.nowMs(),
      tally,
      trace: this.trace,
      truth: (job, key) => this.#truth(job, key),
      jobsOf: (process) => handledIn(this.fleet.of(process)?.jobs ?? []),
      deedOf,
      began: (process, part, key, claim) => {
        lookAtStart(starts, process, part, key, claim)
        this.timetable.started(process, part, key)
        this.unique.started(part.name, key)
      },
    })
    const starts: StartsSurroundings = {
      now: kernel.now,
      oracle: () => this.oracle,
      ledger: (id) => this.db.ledger.get(id),
      standing: (id) => this.user.standing.get(id),
      crashed: () => this.network.servers.store.lives > 0,
    }
    this.timetable = new TimetableWatch({
      oracle: this.oracle,
      tally,
      db: this.db,
      nowMs: () => this.nowMs(),
      crashed: starts.crashed,
    })
    this.unique = new UniqueWatch({
      now: kernel.now,
      oracle: () => this.oracle,
      textOf: (key) => this.user.standing.get(`${mail.name}\u0000${key}`)?.unique ?? null,
    })
    const outcomes = new Outcomes(this.oracle)
    const losses = new Losses(this.oracle, plan.sharedQueue)
    this.db.watch = (change) => {
      this.oracle.committed(change)
      losses.committed(change)
      this.timetable.committed(change)
    }
    this.fleet = new Fleet({
      plan,
      kernel,
      tally,
      trace: this.trace,
      store: () => this.db.store(),
      ways: {
        network: this.network,
        ear: this.#ear(outcomes),
        kill: (tx) => this.db.kill(tx),
        oneConnection: this.db.oneConnection,
      },
      server: this.server,
      stage: () => this.#stage(),
      told: (process, event, detail) => {
        this.trace.tell(process.name, `* ${event}`, () => eventText(detail))
        outcomes.told(process, event, detail)
        if (event === 'queue.lost') losses.told(detail as EventMap['queue.lost'])
        if (event.startsWith('queue.')) this.told.push({ process, event, detail, atMs: kernel.now() })
      },
    })
    this.user = new User({
      kernel,
      network: this.network,
      tally,
      trace: this.trace,
      oracle: () => this.oracle,
      fleet: () => this.fleet,
      chance: random(4),
      begin: () => this.db.begin(),
      accepted: (key, atMs) => this.unique.accepted(key, atMs),
      kill: (tx) => this.db.kill(tx),
    })
  }

  /** The store's clock, in epoch ms. */
  nowMs(): number {
    return beginningMs + this.kernel.now() + this.aheadMs
  }

  #ear(outcomes: Outcomes): StoreEar {
    const { oracle } = this
    return {
      sent: (...call) => oracle.sent(...call),
      arrives: (process, name, args) => {
        this.hostile.arrives(name)
        return oracle.arrives(process, name, args)
      },
      heard: (process, name, args, answer, noted) => {
        oracle.heard(process, name, args, answer, noted)
        outcomes.heard(process, name, args, answer)
      },
    }
  }

  #server(): QueueServer {
    const { kernel, network, tally, plan } = this
    const queue = new SimQueue(kernel.now, plan.bounds)
    const waiting = new Set<() => void>()
    queue.onPush = () => {
      // At an event of its own: who is woken looks after whoever pushed is done.
      if (waiting.size > 0)
        kernel.after(0, () => {
          for (const look of [...waiting]) look()
        })
    }
    return {
      kernel,
      network,
      queue,
      tally,
      full: false,
      refuse: (hints) => this.hostile.push(hints),
      waiting,
      pushed: (hints, sentAt) => {
        for (const { job } of hints) this.lastPushMs.set(job, Math.max(this.lastPushMs.get(job) ?? 0, sentAt))
        this.oracle.pushed(hints)
        this.#checkBounds(queue)
      },
      popped: (process, _, hints) => this.oracle.popped(process, hints),
    }
  }

  /** S11: what is due of a job stays under its bounds, but for what was delayed before, and what somebody put there. */
  #checkBounds(queue: SimQueue): void {
    const { maxHints, maxDelayed } = this.plan.bounds
    if (maxHints === undefined || maxDelayed === undefined) return
    const due = queue.all().filter(({ dueAt }) => dueAt <= this.kernel.now())
    // An enqueue moves a hint from the swept lane into the fresh one, whatever is there.
    const most = 2 * maxHints + maxDelayed + this.injected
    for (const job of new Set(due.map((hint) => hint.job))) {
      const count = due.filter((hint) => hint.job === job).length
      if (count >= maxHints) this.tally.fault('queue too small')
      this.oracle.check('S11', count <= most, () => `${count} due hints of ${job}, ${most} are allowed`)
    }
  }

  /** Hints that were put into the queue by somebody else. */
  injected = 0

  #deedOf(job: string, key: string): Deed | undefined {
    const recurs = recurringPartOf(job)
    if (!recurs) return this.user.deedOf(job, key)
    const slotMs = recurs === report ? null : slotMsOf(key)
    return slotMs === null ? 'ok' : slotDeed(this.plan.seed, slotMs, this.calm)
  }

  #truth(job: string, key: string): { pending: boolean; paused: boolean } {
    const nowMs = this.nowMs()
    const recurs = recurringPartOf(job)
    if (job === ownLane || (recurs && recurs !== report))
      return { paused: false, pending: this.timetable.isPending(job, key) }
    const part = (partOf.get(job) ?? recurs) as Part
    const pause = this.db.pauses.get(job)
    const paused = pause !== undefined && (pause.until === null || pause.until > nowMs)
    if (part.input) {
      const intent = this.db.intents.get(key)
      return { paused, pending: intent !== undefined && (intent.runAt ?? 0) <= nowMs }
    }
    const row = this.db.rows(part.table).get(key)
    return { paused, pending: row?.state === 'pending' && Number(row.runAtMs ?? 0) <= nowMs }
  }

  #stage(): Stage {
    return {
      oracle: this.oracle,
      deedOf: (job, key) => this.#deedOf(job, key),
      generationOf: (job, key) => this.user.generationOf(job, key),
      tried: (job, key) => {
        const id = `${job}|${key}|${this.user.generationOf(job, key)}`
        const tries = (this.#tries.get(id) ?? 0) + 1
        this.#tries.set(id, tries)
        return tries
      },
      crash: (process) => {
        const member = this.fleet.of(process)
        if (!member) return
        this.tally.fault('handler killed its process')
        this.fleet.crash(member, { afterMs: 1_000 })
      },
      finishOutside: (process, part, key, generation) =>
        this.network.call({
          from: process,
          to: 'store',
          name: 'app.finish',
          ends: true,
          work: async () => {
            const tx = this.db.begin()
            const row = await tx.lock(part.table, key)
            if (row?.generation === generation) await tx.put(part.table, key, { ...row, state: 'done' })
            await tx.commit()
          },
        }),
      next: () => ++this.#effects,
    }
  }
}

/** The instant of a slot's key. */
const slotMsOf = (key: string) => (slotCodec.decode(key) as Slot).at.getTime()

/** Chance for one purpose, so that what one part draws does not change what another gets. */
const streamOf = ({ seed }: Plan, stream: number): Random => seededRandom(seed * 16 + stream)

/** The time of a history, before its world is there. */
export const kernelOf = (plan: Plan): Kernel => new Kernel(streamOf(plan, 1))

function eventText(detail: unknown): string {
  return JSON.stringify(detail, (_, value: unknown) => (value instanceof Error ? value.message : value)).slice(0, 300)
}
