// `app.job`: reads a declaration, keeps it, and returns the job with its enqueue. Nothing is thrown here: mistakes wait in the registry.

import { enqueuingTogether } from '../enqueue/coalesce.ts'
import { type EnqueuePorts, enqueueInputs, enqueueKeys, enqueueSlots } from '../enqueue/enqueue.ts'
import type { EnqueueReport, EnqueueResult } from '../job/declaration.ts'
import type { Handler } from '../job/handler.ts'
import { type Job, kindOf, optionsOf } from '../job/job.ts'
import { lateDoor } from '../queue/push.ts'
import { scheduleMistakes } from '../schedule/mistakes.ts'
import type { WorkOptions } from './app.ts'
import { unhandled } from './options.ts'
import type { Resources } from './resources.ts'

const enqueueOf = { pending: enqueueKeys, input: enqueueInputs, schedule: enqueueSlots }

/** `serving`: what each live worker of this app chose. */
export function declaringJobs(resources: Resources, ports: EnqueuePorts, serving: ReadonlySet<WorkOptions>) {
  const { registry, declared, events, life } = resources
  return (name: string, options: unknown) => {
    const job: Job = registry.declare(name, options)
    registry.blame(...scheduleMistakes(job))
    const kind = kindOf(job)
    const many = async (items: Iterable<unknown>, choice: object = {}) => {
      registry.verify()
      return life.call(() => enqueueOf[kind](ports, job, items, choice))
    }
    const one = async (item: unknown, choice?: object) => resultOf(await many([item], choice))
    const key = kind === 'pending' ? job.key.shape : null
    declared.push({ name, kind, key, handled: optionsOf(options).run !== undefined, enqueue: one })
    if ([...serving].some((choice) => unhandled(choice, [], [name]).length > 0))
      events.emit('job.unhandled', { jobs: [name], why: 'late' })
    return {
      name,
      enqueue: one,
      enqueueMany: many,
      handle: (run: Handler['run']): Handler => ({ job, run }),
    }
  }
}

/** The report of an enqueue of one item, as its caller gets it. */
const resultOf = ({ keys, ...counts }: EnqueueReport): EnqueueResult => ({
  key: keys[0] as string,
  status: statuses.find((status) => counts[status] > 0) ?? 'added',
})
const statuses = ['added', 'merged', 'dropped', 'held'] as const

/** Opened by the first call that needs it: a hint that cannot even reach the queue is dropped and told, like any other. */
export function enqueuePorts({ clock, random, events, errors, store, open }: Resources): EnqueuePorts {
  const ports: Omit<EnqueuePorts, 'together'> = {
    clock,
    random,
    push: lateDoor(async () => (await open()).push, events),
    // The store alone: a queue that is away must not keep an intent from being written.
    intents: {
      record: async (...args) => (await store()).intents.record(...args),
      openWriters: async () => (await store()).intents.openWriters(),
    },
    adopt: async (of, tx) => (await store()).connections.adopt(of, tx),
    classify: errors.classify,
  }
  return { ...ports, together: enqueuingTogether(ports) }
}
