// The composition root: one app, both arrows wired to a store and a queue. Nothing is opened before first use.
import { systemClock } from '../base/clock.ts'
import { callback, checkArgument } from '../base/options.ts'
import { systemRandom } from '../base/random.ts'
import { hintingAfterCommit } from '../enqueue/after-commit.ts'
import type { DeclareJob } from '../job/declaration.ts'
import type { Transaction } from '../job/handler.ts'
import type { App, AppOptions, WorkerHandle, WorkOptions } from './app.ts'
import { declaringJobs, enqueuePorts } from './declare-job.ts'
import { listening } from './listen.ts'
import { loadDrain, loadWorker } from './on-demand.ts'
import { lazyOperator, operatorKey } from './operator.ts'
import { readWork, unhandled } from './options.ts'
import { type Resources, resourcesOf, type Surroundings } from './resources.ts'
import { handleOf } from './worker-handle.ts'

/** Makes an app. It opens nothing, and lists the mistakes in declarations all at once on first use. */
export const regrow = <Tx = Transaction>(options: AppOptions<Tx>): App<Tx> =>
  compose(options, { clock: systemClock, random: systemRandom })

/** `regrow` with another clock and another source of chance. */
export function compose<Tx = Transaction>(options: AppOptions<Tx>, surroundings: Surroundings): App<Tx> {
  const resources = resourcesOf(options, surroundings)
  const { events, life, store, close } = resources
  const enqueuing = enqueuePorts(resources)
  /** What each live worker chose. */
  const serving = new Set<WorkOptions>()
  const end = () => life.close(close)
  const operator = lazyOperator(resources)
  return {
    job: declaringJobs(resources, enqueuing, serving) as unknown as DeclareJob<Tx>,
    work: (choice = {}) => work(resources, serving, choice),
    drain: async (choice = {}) => {
      life.check()
      return (await loadDrain()).drain(resources as Resources, choice)
    },
    transaction: (fn) => {
      /** What the function throws is its own, also where it is away from another server. */
      let theirs: { readonly error: unknown } | undefined
      const called = async (tx: Tx) => {
        try {
          return await fn(tx)
        } catch (error) {
          theirs = { error }
          throw error
        }
      }
      const work = async () => {
        checkArgument('transaction()', 'its argument', fn, callback, 'Write app.transaction(async (tx) => { … }).')
        return hintingAfterCommit((await store()).transaction, enqueuing.push)((_, tx) => called(tx))
      }
      return life.call(work, (error) => theirs?.error === error)
    },
    on: listening(events),
    pause: operator.pause,
    resume: operator.resume,
    close: end,
    [Symbol.asyncDispose]: end,
    [operatorKey]: operator,
  }
}

/** Reads the options of a worker, starts it, and answers its handle at once. */
function work(resources: Resources, serving: Set<WorkOptions>, choice: WorkOptions): WorkerHandle {
  const { registry, declared, reporter, events, life } = resources
  registry.verify()
  const known = declared.map(({ name }) => name)
  const plan = readWork(choice, registry.inlineHandlers(), registry.jobs())
  reporter.use(choice.log)
  const missing = unhandled(choice, plan.handlers, known)
  if (missing.length > 0) events.emit('job.unhandled', { jobs: missing, why: 'handler' })
  const serves = { ...choice }
  serving.add(serves)
  return handleOf({
    events,
    life,
    jobs: plan.handlers.map(({ job }) => job.name),
    start: async (leaving) => (await loadWorker()).startWorker(resources, plan, leaving),
    refusal: resources.errors.refusal,
    over: () => serving.delete(serves),
  })
}
