// The demo's queue on a Redis of yours: a namespace of its own, which nobody else uses, and which is gone at the end.
// Everything else on that server is left alone.
import { randomBytes } from 'node:crypto'
import { createClient } from '@redis/client'
import type { QueueDriver } from 'regrow'
import { redis } from 'regrow/redis'
import { type DemoQueue, identity } from './place.ts'

type Queue = Awaited<ReturnType<QueueDriver['open']>>

const jobs = ['demo.database.create', 'demo.backup.run', 'demo.email.welcome']

export async function redisQueue(url: string): Promise<DemoQueue & { readonly namespace: string }> {
  const namespace = `regrow-demo-${randomBytes(4).toString('hex')}`
  const looking = await connected(url)
  const keyOf = (what: string, job: string) => `{${namespace}}:${what}:${job}`
  let opened: Promise<Queue> | undefined
  return {
    namespace,
    // Of a client regrow uses the settings only. One queue for every app of this process; a worker that is a process of its own opens another one.
    driver: {
      kind: 'queue',
      name: 'redis',
      open: (around) => {
        opened ??= redis(looking, { namespace }).open(around)
        return opened
      },
    },
    async hints() {
      const counts = await (await opened)?.count(jobs)
      return [...(counts?.values() ?? [])].reduce((sum, { due, delayed }) => sum + due + delayed, 0)
    },
    async wipe() {
      // Which hints these are is only for the screen; destroyed they are by the queue itself.
      const keys = await Promise.all(
        jobs.map(async (job) => {
          const lanes = await Promise.all([
            ...['fresh-set', 'swept-set'].map((what) => looking.sMembers(keyOf(what, job))),
            ...['fresh-delayed', 'swept-delayed'].map((what) => looking.zRange(keyOf(what, job), 0, -1)),
          ])
          return lanes.flat().map((key) => identity({ job, key }))
        }),
      )
      await (await opened)?.wipe()
      return keys.flat()
    },
    async close() {
      // A step at a time: KEYS would keep everybody else on that server waiting.
      for await (const left of looking.scanIterator({ MATCH: `{${namespace}}:*`, COUNT: 1_000 }))
        if (left.length > 0) await looking.unlink(left)
      looking.destroy()
    },
  }
}

/** regrow goes on without its queue, and would not complain; whoever names a server wants to see it in use. */
async function connected(url: string) {
  const client = createClient({ url, socket: { connectTimeout: 3_000, reconnectStrategy: false } })
  // Each call tells its own error.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    const { host } = new URL(url)
    throw new Error(
      `Redis at ${host} could not be used: ${(error as Error).message || (error as { code?: string }).code}`,
    )
  }
}
