// One Redis Sentinel that watches a master and its replica, and promotes the replica a second after the master is gone.

import { setTimeout as sleep } from 'node:timers/promises'
import { launchRedis } from './redis.mjs'

const READY_MS = 20_000

/** See index.d.mts. */
export async function startRedisSentinel({ master, name = 'main', downAfterMs = 1_000 }) {
  const server = await launchRedis(['--sentinel'], () => ({
    [`sentinel monitor ${name}`]: `127.0.0.1 ${master.port} 1`,
    [`sentinel down-after-milliseconds ${name}`]: downAfterMs,
    [`sentinel failover-timeout ${name}`]: 5_000,
  }))
  const end = performance.now() + READY_MS
  // It learns of replicas from the master; without one it could promote nobody.
  for (;;) {
    const replicas = await server.command('SENTINEL', 'REPLICAS', name)
    if (replicas.some((fields) => fields[fields.indexOf('master-link-status') + 1] === 'ok'))
      return Object.assign(server, { name })
    if (performance.now() > end) {
      await server.close()
      throw new Error(`The Sentinel found no replica of the master on port ${master.port} in ${READY_MS} ms.`)
    }
    await sleep(25)
  }
}
