// One Redis Sentinel that watches a master and its replica, and promotes the replica a second after the master is gone.

import { setTimeout as sleep } from 'node:timers/promises'
import { launchRedis, type RedisServer } from './redis.ts'

const READY_MS = 20_000

export interface RedisSentinelOptions {
  /** It has to have a replica already. */
  master: { readonly port: number }
  /** The name by which clients ask for the master. Defaults to `main`. */
  name?: string
  /** How long the master may be silent. Defaults to 1,000. */
  downAfterMs?: number
}

export interface RedisSentinel extends RedisServer {
  /** Of the master that it watches. */
  readonly name: string
}

/** Starts a Sentinel that watches a master which has a replica. It ends with this process, however that ends. */
export async function startRedisSentinel(options: RedisSentinelOptions): Promise<RedisSentinel> {
  const { master, name = 'main', downAfterMs = 1_000 } = options
  const server = await launchRedis(['--sentinel'], async () => ({
    [`sentinel monitor ${name}`]: `127.0.0.1 ${master.port} 1`,
    [`sentinel down-after-milliseconds ${name}`]: downAfterMs,
    [`sentinel failover-timeout ${name}`]: 5_000,
  }))
  const end = performance.now() + READY_MS
  // It learns of replicas from the master; without one it would have nothing to promote.
  for (;;) {
    const replicas = (await server.command('SENTINEL', 'REPLICAS', name)) as string[][]
    if (replicas.some((fields) => fields[fields.indexOf('master-link-status') + 1] === 'ok'))
      return Object.assign(server, { name })
    if (performance.now() > end) {
      await server.close()
      throw new Error(`The Sentinel found no replica of the master on port ${master.port} in ${READY_MS} ms.`)
    }
    await sleep(25)
  }
}
