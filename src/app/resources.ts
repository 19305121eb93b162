// What an app opens, each thing on first use: the driver, the store, the queue behind its canary and its fallback, and the doors to both.
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { Events } from '../base/events.ts'
import { once } from '../base/lazy.ts'
import { Life } from '../base/life.ts'
import { isProduction as inProduction, whereabouts } from '../base/process-info.ts'
import type { Random } from '../base/random.ts'
import { Signal } from '../base/signal.ts'
import { hintingAfterCommit } from '../enqueue/after-commit.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import { Registry } from '../job/registry.ts'
import { Reporter } from '../job/reporter.ts'
import { Canary } from '../queue/canary.ts'
import { Fallback, type GuardedQueue } from '../queue/fallback.ts'
import { type Fill, fillDoor, type Push, pushDoor } from '../queue/push.ts'
import type { Queue, QueueRepair } from '../queue/queue.ts'
import { type ClaimKeys, claimKeys } from '../store/claim.ts'
import { StoreErrors } from '../store/errors.ts'
import { guardedStore, originalSource } from '../store/resilient-store.ts'
import type { Source } from '../store/source.ts'
import type { Store } from '../store/store.ts'
import { guards } from '../store/unclaimed-ledger.ts'
import type { AppOptions, DeclaredJob } from './app.ts'
import { type Guard, readApp } from './options.ts'

/** How long an opening may go on after the app was closed: a server that is silent would keep it for longer. */
const openingMs = 1_000

/** What an app gets from outside. */
export interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** Defaults to what the environment says. */
  readonly isProduction?: () => boolean
}

/** The store and the queue, ready for use. */
export interface Opened<Tx = unknown> {
  readonly store: Store<Tx> & { readonly claim: ClaimKeys }
  readonly queue: GuardedQueue
  readonly fallback: Fallback
  readonly canary: Canary
  readonly source: (job: Job) => Source
  readonly push: Push
  readonly fill: Fill
}

/** Everything that the parts of an app share. */
export interface Resources<Tx = unknown> {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly reporter: Reporter
  readonly life: Life
  readonly registry: Registry
  /** Tells what errors of the store mean, as soon as there is one that can. */
  readonly errors: StoreErrors
  /** Every job, in the order of declaration. */
  readonly declared: DeclaredJob[]
  readonly guard: Guard
  readonly leaseMs: number
  /** Host and process, for people. */
  readonly place: { readonly host: string; readonly pid: number }
  /** The same as one text: the author of what this process writes down. */
  readonly author: string
  readonly isProduction: () => boolean
  /** Opening brings regrow's tables up to date. */
  readonly migrates: () => boolean
  /** A pop or a push met another queue than the store knows of. */
  readonly lossSuspected: Signal
  /** The store refused a statement for what a row of regrow's own holds. */
  readonly damageSuspected: Signal
  /** The queue does not answer. */
  readonly queueFailed: Signal
  /** The store as it is: its tables may be old, or missing. */
  readonly bareStore: () => Promise<Store<Tx>>
  /** The store alone: what a queue that is away must not keep from working. */
  readonly store: () => Promise<Store<Tx>>
  readonly open: () => Promise<Opened<Tx>>
  /** Closes what was opened. */
  readonly close: () => Promise<void>
}

/** Opens nothing. Mistakes in the options wait in the registry. */
export function resourcesOf<Tx>(
  options: AppOptions<Tx>,
  { clock, random, isProduction = inProduction }: Surroundings,
): Resources<Tx> {
  const { leaseMs, guard, mistakes } = readApp(options)
  const registry = new Registry()
  registry.blame(...mistakes)
  const events = new Events<EventMap>()
  events.whenListenerFails((event, error) => {
    if (event !== 'listener.failed') events.emit('listener.failed', { event, error })
  })
  const errors = new StoreErrors()
  const reporter = new Reporter(clock, events, mistakes.length === 0 ? options.log : undefined, errors.isOutage)
  const life = new Life(clock, errors.told)
  const place = whereabouts()
  const migrates = () => options.migrate ?? !isProduction()
  const lossSuspected = new Signal()
  const damageSuspected = new Signal()
  const queueFailed = new Signal()

  const driver = once(async () => {
    life.check()
    return errors.of(options.store.open({ clock, leaseMs }))
  })
  const bareStore = once(async () => guardedStore((await driver()).store, clock, random, () => damageSuspected.fire()))
  const store = once(async () => {
    registry.verify()
    const bare = await bareStore()
    await bare.prepare({ migrate: migrates() })
    return bare
  })
  const open = once(async () => {
    const ready = await store()
    const onRepair = (repair: QueueRepair) => repaired(events, ready, real.name, repair)
    const real: Queue =
      (await options.queue?.open({ clock, identity: () => ready.identity(), onRepair })) ??
      (await driver()).defaultQueue()
    const canary = new Canary(() => lossSuspected.fire())
    const names = () => registry.jobs().map(({ name }) => name)
    const fallback = withFallback(canary.watch(real), { clock, events, queueFailed, store: ready, names })
    const { queue } = fallback
    const push = pushDoor(queue, events, clock)
    const ledger = guards[guard](ready)
    const transaction = hintingAfterCommit(ready.transaction, push)
    return {
      store: { ...ready, ledger, claim: claimKeys(ledger, originalSource), transaction },
      ...{ queue, fallback, canary, source: sourcesOf(ready), push, fill: fillDoor(queue, events) },
    }
  })
  const close = async () => {
    const opening = open.peek()
    const closing = opening.then((opened) => opened?.queue.close())
    closing.catch(() => {})
    try {
      await withDeadline(clock, openingMs, 'The opening', opening).then(
        () => closing,
        () => {},
      )
    } finally {
      // An opening that waits for a connection fails with this.
      await (await driver.peek())?.store.close()
      reporter.flush()
      await closing
    }
  }
  return {
    ...{ clock, random, events, reporter, life, registry, errors, declared: [], guard, leaseMs },
    ...{
      place,
      author: `${place.host}:${place.pid}`,
      isProduction,
      migrates,
      lossSuspected,
      queueFailed,
      damageSuspected,
    },
    ...{ bareStore, store, open, close },
  }
}

function repaired<Tx>(events: Events<EventMap>, store: Store<Tx>, queue: string, { keys, jobs }: QueueRepair): void {
  events.emit('queue.repaired', { queue, keys, jobs })
  // Where this fails, the jobs are swept when their turn comes.
  if (jobs.length > 0) store.sweeps.makeDue(jobs, { anew: true }).catch(() => {})
}

interface FallbackPorts extends Pick<Resources, 'clock' | 'events' | 'queueFailed'> {
  readonly store: Pick<Store<never>, 'sweeps'>
  readonly names: () => readonly string[]
}

function withFallback(real: Queue, { clock, events, queueFailed, store, names }: FallbackPorts): Fallback {
  return new Fallback(real, clock, {
    down: (error) => {
      events.emit('queue.down', { queue: real.name, error })
      queueFailed.fire()
    },
    up: async (downMs, discarded) => {
      events.emit('queue.up', { queue: real.name, downMs, discarded })
      // What this process hinted meanwhile was in its memory only.
      await store.sweeps.makeDue(names(), { anew: true })
    },
  })
}

/** One source per job. */
function sourcesOf<Tx>(store: Store<Tx>): (job: Job) => Source {
  const sources = new Map<Job, Source>()
  return (job) => {
    const made = sources.get(job) ?? store.source(job)
    sources.set(job, made)
    return made
  }
}
