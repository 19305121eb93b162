// The demo with nothing installed: Postgres inside this process (PGlite, in memory), hints in memory or in a Redis of yours,
// and workers that are apps of their own on that one database.

import { PGlite } from '@electric-sql/pglite'
import { type QueueDriver, regrow } from 'regrow'
import { memory } from 'regrow/memory'
import { operate } from 'regrow/operate'
import { pglite } from 'regrow/pglite'
import { controlPlane } from './control-plane.ts'
import { Lifeline } from './lifeline.ts'
import { concurrency, type DemoQueue, identity, lease, listen, type Place } from './place.ts'

type Queue = Awaited<ReturnType<QueueDriver['open']>>

export async function onPglite(onRedis?: DemoQueue): Promise<Place> {
  const db = await PGlite.create()
  const { driver, hints, wipe, close } = onRedis ?? sharedMemory()
  const app = regrow({ store: pglite(db), queue: driver, lease, log: false, migrate: true })
  await operate(app).migrate()
  await operate(app).queue()
  return {
    app,
    remarks: [
      onRedis
        ? 'The queue is in Redis, Postgres (PGlite) and workers in this process: a killed'
        : 'Postgres (PGlite), the queue and the workers are all in this process: a killed',
      'worker is an abandoned one, whose calls go nowhere from then on. With',
      '--postgres URL workers are processes, and a kill is kill -9.',
    ],
    query: (text, params) => db.query(text, params),
    async startWorker(tell) {
      const line = new Lifeline()
      const app = regrow({ store: line.store(pglite(db)), queue: line.queue(driver), lease, log: false, migrate: true })
      controlPlane(app)
      listen(app, tell)
      const worker = app.work({ concurrency })
      await worker.ready
      return { killing: 'abandoned', kill: line.cut, ended: line.ended, stop: () => worker.stop() }
    },
    hints,
    wipe,
    async close() {
      await close()
      await db.close()
    },
  }
}

/** One memory queue for all apps of this process, which remembers what is in it. */
function sharedMemory(): DemoQueue {
  const present = new Set<string>()
  let opened: Promise<Queue> | undefined
  const open: QueueDriver['open'] = async (around) => {
    opened ??= memory().open(around)
    const queue = await opened
    const watched: Partial<Queue> = {
      push: (hints) => {
        for (const hint of hints) present.add(identity(hint))
        return queue.push(hints)
      },
      pop: async (request, signal) => {
        const popped = await queue.pop(request, signal)
        for (const hint of popped.hints) present.delete(identity(hint))
        return popped
      },
    }
    return new Proxy(queue, {
      get: (_, name) => watched[name as 'push'] ?? bound(queue, name),
    })
  }
  return {
    driver: { kind: 'queue', name: 'memory', open },
    hints: async () => present.size,
    async wipe() {
      const queue = await opened
      const keys = [...present]
      present.clear()
      await queue?.wipe()
      return keys
    },
    close: async () => {},
  }
}

function bound(object: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(object, name)
  return typeof value === 'function' ? value.bind(object) : value
}
