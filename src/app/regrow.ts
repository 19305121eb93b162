// The composition root: wires both arrows to a store and a queue. Nothing is opened before first use.

import { type Clock, systemClock } from '../base/clock.ts'
import { pledge } from '../base/deferred.ts'
import { Events } from '../base/events.ts'
import { once } from '../base/lazy.ts'
import { Life } from '../base/life.ts'
import { isProduction as inProduction, whereabouts } from '../base/process-info.ts'
import { type Random, systemRandom } from '../base/random.ts'
import { retry } from '../base/retry.ts'
import { Watchdog } from '../base/watchdog.ts'
import { afterCommit, hintingAfterCommit } from '../enqueue/after-commit.ts'
import { executorOf } from '../enqueue/arguments.ts'
import { enqueuingTogether } from '../enqueue/coalesce.ts'
import { type EnqueuePorts, enqueueInputs, enqueueKeys, enqueueSlots } from '../enqueue/enqueue.ts'
import { acceptedInputs } from '../enqueue/intents.ts'
import type { DeclareJob } from '../job/declaration.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Handler, Transaction } from '../job/handler.ts'
import { type Job, optionsOf } from '../job/job.ts'
import { Registry } from '../job/registry.ts'
import { Reporter } from '../job/reporter.ts'
import { coverage } from '../operate/coverage/coverage.ts'
import { doctor } from '../operate/doctor/doctor.ts'
import { forget } from '../operate/forget.ts'
import { health } from '../operate/health.ts'
import { pausing } from '../operate/pause.ts'
import { quarantine } from '../operate/quarantine.ts'
import { schedulesOf } from '../operate/schedules.ts'
import { status } from '../operate/status.ts'
import { why } from '../operate/why/why.ts'
import { Canary } from '../queue/canary.ts'
import { Fallback } from '../queue/fallback.ts'
import { fillDoor, lateDoor, pushDoor } from '../queue/push.ts'
import type { Queue, QueueRepair } from '../queue/queue.ts'
import { auditLoop } from '../schedule/audit.ts'
import { declareSchedules, keepSchedules, scheduleMistakes } from '../schedule/declare.ts'
import { instantsOf, patternMistake } from '../schedule/reconcile.ts'
import { handOver, handOverLane } from '../schedule/runtime-schedules.ts'
import { beginning } from '../schedule/start-slots.ts'
import { claimKeys } from '../store/claim.ts'
import { isRefusal, StoreErrors } from '../store/errors.ts'
import { guardedStore, originalSource } from '../store/resilient-store.ts'
import type { Source } from '../store/source.ts'
import { guards } from '../store/unclaimed-ledger.ts'
import { sweepLoops } from '../sweep/loops.ts'
import { sweepOnDemand } from '../sweep/run-sweep.ts'
import { handleOf } from '../worker/handle.ts'
import { Worker } from '../worker/worker.ts'
import type { App, AppOptions, DeclaredJob, WorkOptions } from './app.ts'
import { chosenHandlers, readApp, unhandled } from './options.ts'

/** Makes an app. It opens nothing, and mistakes in declarations are told all at once on first use. */
export const regrow = <Tx = Transaction>(options: AppOptions<Tx>): App<Tx> =>
  compose(options, { clock: systemClock, random: systemRandom })

/** What an app gets from outside. */
interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** Defaults to what the environment says. */
  readonly isProduction?: () => boolean
}

/** `regrow` with a clock and a source of chance of one's own. */
export function compose<Tx = Transaction>(
  options: AppOptions<Tx>,
  { clock, random, isProduction = inProduction }: Surroundings,
): App<Tx> {
  const registry = new Registry()
  const errors = new StoreErrors()
  const { leaseMs, guard, mistakes } = readApp(options)
  registry.blame(...mistakes)
  const events = new Events<EventMap>()
  const reporter = new Reporter(clock, events, mistakes.length === 0 ? options.log : undefined, errors.isOutage)
  const life = new Life(clock)
  /** What each live worker chose. */
  const serving = new Set<WorkOptions>()

  const connected = once(async () => {
    life.check()
    return errors.of(options.store.open({ clock, leaseMs }))
  })
  const guarded = once(async () => guardedStore((await connected()).store, clock, random))
  const stored = once(async () => {
    registry.verify()
    const store = await guarded()
    await store.prepare({ migrate: options.migrate ?? !isProduction() })
    return store
  })
  const opened = once(async () => {
    const store = await stored()
    const onRepair = ({ keys, jobs }: QueueRepair) => {
      events.emit('queue.repaired', { queue: real.name, keys, jobs })
      // Where this fails, the jobs are swept when their turn comes.
      if (jobs.length > 0) store.sweeps.makeDue(jobs, { anew: true }).catch(() => {})
    }
    const real: Queue =
      (await options.queue?.open({ clock, identity: () => store.identity(), onRepair })) ??
      (await connected()).defaultQueue()
    const canary = new Canary()
    const fallback = new Fallback(canary.watch(real), clock, {
      down: (error) => events.emit('queue.down', { queue: real.name, error }),
      up: async (downMs, thrownAway) => {
        events.emit('queue.up', { queue: real.name, downMs, thrownAway })
        // What this process hinted meanwhile was in its memory only.
        await store.sweeps.makeDue(names(registry.jobs()), { anew: true })
      },
    })
    const sources = new Map<Job, Source>()
    const source = (job: Job) => {
      const made = sources.get(job) ?? store.source(job)
      sources.set(job, made)
      return made
    }
    const { queue } = fallback
    const push = pushDoor(queue, events, clock)
    const ledger = guards[guard](store)
    return {
      store: {
        ...store,
        ledger,
        claim: claimKeys(ledger, originalSource),
        transaction: hintingAfterCommit(store.transaction, push),
      },
      queue,
      fallback,
      canary,
      source,
      push,
      fill: fillDoor(queue, events),
    }
  })
  // Opened by the first call that needs it: a hint that cannot even reach the queue is dropped and told, like any other.
  const arrow: Omit<EnqueuePorts, 'together'> = {
    clock,
    random,
    push: lateDoor(async () => (await opened()).push, events),
    // The store alone: a queue that is away must not keep an intent from being written.
    intents: {
      record: async (...args) => (await stored()).intents.record(...args),
      openWriters: async () => (await stored()).intents.openWriters(),
    },
    classify: errors.classify,
  }
  const enqueuing: EnqueuePorts = { ...arrow, together: enqueuingTogether(arrow) }

  const operating = async () => {
    registry.verify()
    const { store, queue, push, fill, source } = await opened()
    const { host, pid } = whereabouts()
    const shared = { clock, random, events, push, fill, source, queue, leaseMs, author: `${host}:${pid}` }
    return {
      ...shared,
      store,
      status: store.status,
      timetable: store.timetable,
      instants: instantsOf,
      quarantine: store.quarantine,
      diagnosis: store.diagnosis,
      sweeps: store.sweeps,
      jobs: registry.jobs(),
    }
  }

  const switches = pausing(async () => {
    const { pauses, status } = await stored()
    const { host, pid } = whereabouts()
    return { pauses, status, jobs: registry.jobs(), author: `${host}:${pid}` }
  })

  const declared: DeclaredJob[] = []
  const declare = (name: string, options: unknown) => {
    const job = registry.declare(name, options)
    const given = optionsOf(options)
    registry.blame(...scheduleMistakes(job))
    const enqueue = job.slots ? enqueueSlots : given.input === undefined ? enqueueKeys : enqueueInputs
    const many = async (items: Iterable<unknown>, choice: object = {}) => {
      registry.verify()
      life.enter()
      try {
        return await enqueue(enqueuing, job, items, choice)
      } finally {
        life.leave()
      }
    }
    const one = (item: unknown, choice?: object) => many([item], choice)
    const kind = job.slots ? 'schedule' : given.input === undefined ? 'pending' : 'input'
    const key = kind === 'pending' ? job.key.shape : null
    declared.push({ name, kind, key, handled: given.run !== undefined, enqueue: one })
    if ([...serving].some((choice) => unhandled(choice, [], [name]).length > 0))
      events.emit('job.unhandled', { jobs: [name], why: 'late' })
    return {
      name,
      enqueue: one,
      enqueueMany: many,
      handle: (run: Handler['run']): Handler => ({ job, many: false, batchMax: 1, run }),
      handleMany: (run: Handler['run'], { batch = 100 } = {}): Handler => ({ job, many: true, batchMax: batch, run }),
    }
  }

  const app: App<Tx> = {
    job: declare as unknown as DeclareJob<Tx>,
    on: events.on.bind(events) as App['on'],
    transaction: async (fn) => {
      const store = await stored()
      return hintingAfterCommit(store.transaction, enqueuing.push)((_, tx) => fn(tx))
    },
    jobs: () => declared,
    queue: async () => {
      const { name, shared } = (await opened()).queue
      return { name, shared }
    },
    status: async () => status(await operating()),
    health: async () => health(await operating()),
    why: async (job, key) => why(await operating(), job, key),
    // The store alone: a test that asks for it has no queue.
    doctor: async (choice) => {
      const store = await guarded()
      const ports = { clock, store, source: store.source, jobs: registry.jobs(), guard, leaseMs }
      const migrates = options.migrate ?? !isProduction()
      const opening = { health: async () => health(await operating()), queue: async () => (await opened()).queue }
      return doctor({ ...ports, ...opening, migrates, verify: () => registry.verify() }, choice)
    },
    coverage: async (choice) => {
      const store = await stored()
      return coverage({ clock, store, jobs: registry.jobs(), source: store.source }, choice)
    },
    quarantine: quarantine(operating),
    schedules: schedulesOf(async () => {
      const open = await operating()
      const { schedules, timetable } = open.store
      return {
        ...open,
        schedules,
        timetable,
        handOverLane,
        afterCommit,
        executorOf,
        keep: async (names, reason) => void (await keepSchedules({ ...open, schedules }, names, reason)),
        mistake: patternMistake,
        instants: instantsOf,
        inputText: async (job, input) => (await acceptedInputs(job, [input]))[0] as string,
      }
    }),
    ...switches,
    sweep: async (choice) => sweepOnDemand(await operating(), choice),
    forget: async (job, choice) => {
      const open = await operating()
      return forget({ ...open, forgetting: open.store.forgetting }, job, choice)
    },
    migrate: async () => (await guarded()).migrate(),
    close: () =>
      life.close(async () => {
        try {
          await (await opened.peek())?.queue.close()
        } finally {
          await (await connected.peek())?.store.close()
          reporter.flush()
        }
      }),
    work: (choice = {}) => {
      registry.verify()
      const known = declared.map(({ name }) => name)
      const handlers = chosenHandlers(choice, registry.inlineHandlers(), known)
      reporter.use(choice.log)
      const missing = unhandled(choice, handlers, known)
      if (missing.length > 0) events.emit('job.unhandled', { jobs: missing, why: 'handler' })
      const serves = { ...choice }
      serving.add(serves)
      const start = async (leaving: AbortSignal) => {
        const opening = { delayMs: 500, again: waitsForStore(events, errors), signal: leaving }
        const { store, queue, fallback, canary, source, push, fill } = await retry(clock, random, opening, opened)
        // Nobody would stop what begins after this.
        leaving.throwIfAborted()
        const { promise: registered, resolve, reject } = pledge()
        const { schedules, intents } = store
        const recurring = { schedules, intents, clock, random, events, push, leaseMs, queue }
        const worker = new Worker(
          { clock, random, events, log: reporter.log, store, source, queue, push, begin: beginning(recurring) },
          {
            handlers: [...handlers, handOver(recurring)],
            concurrency: choice.concurrency ?? 10,
            leaseMs,
            ...whereabouts(),
            // Until then nothing may be popped: who waits for that need not wait for the poll.
            registered: () => {
              resolve()
              watchdog.wake('pop')
            },
          },
        )
        const { host, pid } = whereabouts()
        const jobs = handlers.map(({ job }) => job)
        const lower = sweepLoops({
          ...store,
          clock,
          random,
          events,
          push,
          fill,
          source,
          queue,
          canary,
          leaseMs,
          concurrency: choice.concurrency ?? 10,
          by: `${host}:${pid}`,
          jobs,
          holder: () => worker.claims.holder,
          mayBegin: () => worker.sure(),
          sweepsAtStart: !isProduction(),
          sweepNow: () => {
            audits.anew()
            watchdog.wake('sweep', 'schedules')
          },
        })
        const mayBegin = () => worker.sure()
        const declare = () => declareSchedules(recurring, jobs)
        const audits = auditLoop({ ...recurring, mayBegin, declare })
        const watchdog: Watchdog = new Watchdog(
          [...worker.loops(), ...lower, audits, fallback.probing()],
          {
            clock,
            random,
            failed: (loop, error) => {
              events.emit('loop.failed', { loop, error })
              if (loop === 'beat' && isRefusal(errors.classify(error))) reject(error)
            },
          },
          (loop) => events.emit('loop.stalled', { loop }),
        )
        canary.onSuspicion = () => watchdog.wake('canary')
        fallback.onDown = () => watchdog.wake('queue', 'own sweep')
        watchdog.start()
        return { worker, watchdog, registered }
      }
      const jobNames = names(handlers.map(({ job }) => job))
      return handleOf({
        clock,
        events,
        life,
        jobs: jobNames,
        start,
        refusal: errors.refusal,
        over: () => serving.delete(serves),
      })
    },
  }
  return life.guard(app, ['job', 'jobs', 'on', 'work', 'close'])
}

const names = (jobs: readonly Job[]) => jobs.map(({ name }) => name)

/** A worker that finds its store away at the start waits for it; one that finds a mistake says so and ends. */
const waitsForStore = (events: Events<EventMap>, errors: StoreErrors) => (error: unknown) => {
  const waits = errors.isAway(error)
  if (waits) events.emit('loop.failed', { loop: 'open', error })
  return waits
}
