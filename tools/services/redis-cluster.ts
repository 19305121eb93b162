// A Redis Cluster of masters without replicas, all on this machine; it is ready in two to three seconds.

import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { launchRedis, type RedisServer, type RedisSettings } from './redis.ts'

const SLOTS = 16_384
const READY_MS = 30_000

export interface RedisClusterOptions {
  /** Defaults to 3. They have no replicas. */
  masters?: number
  /** Further lines of every node's redis.conf. */
  settings?: RedisSettings
}

export interface RedisCluster {
  readonly nodes: RedisServer[]
  /** Connection strings of the nodes, in their order. */
  readonly urls: string[]
  close(): Promise<void>
}

interface Node {
  readonly server: RedisServer
  /** The port on which nodes talk to each other; undefined: the server's port and 10,000. */
  readonly bus: number | undefined
}

/** Starts a Redis Cluster; it serves every slot. It ends with this process, however that ends. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, settings = {} } = options
  const started = await Promise.allSettled(Array.from({ length: masters }, () => startNode(settings)))
  const running = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const nodes = running.map(({ server }) => server)
  const close = async () => {
    await Promise.all(nodes.map((node) => node.close()))
  }
  try {
    for (const each of started) if (each.status === 'rejected') throw each.reason
    await join(running)
    await waitUntilWhole(nodes)
  } catch (error) {
    await close()
    throw error
  }
  return { nodes, urls: nodes.map((node) => node.url()), close }
}

async function startNode(settings: RedisSettings): Promise<Node> {
  let bus: number | undefined
  const server = await launchRedis([], async (_, version) => {
    // Before 7.0 the bus is 10,000 above the port, whatever is there.
    bus = version >= 7 ? await freePort() : undefined
    return {
      save: '',
      'cluster-enabled': 'yes',
      'cluster-node-timeout': 2_000,
      'cluster-announce-ip': '127.0.0.1',
      ...(bus === undefined ? {} : { 'cluster-port': bus, 'enable-debug-command': 'local' }),
      ...settings,
    }
  })
  return { server, bus }
}

/** Deals out the slots, and makes every node known to every other: waiting for gossip would take longer. */
async function join(nodes: readonly Node[]): Promise<void> {
  const share = Math.ceil(SLOTS / nodes.length)
  await Promise.all(
    nodes.map(async ({ server }, i) => {
      const slots = Array.from({ length: Math.min(share, SLOTS - i * share) }, (_, n) => i * share + n)
      await server.command('CLUSTER', 'ADDSLOTS', ...slots)
      await server.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      for (const { server: other, bus } of nodes.slice(0, i))
        await server.command('CLUSTER', 'MEET', '127.0.0.1', other.port, ...(bus === undefined ? [] : [bus]))
    }),
  )
}

async function waitUntilWhole(nodes: readonly RedisServer[]): Promise<void> {
  const end = performance.now() + READY_MS
  const isWhole = async (node: RedisServer) => {
    const info = String(await node.command('CLUSTER', 'INFO'))
    return ['cluster_state:ok', `cluster_known_nodes:${nodes.length}`].every((line) => info.includes(`${line}\r\n`))
  }
  while (!(await Promise.all(nodes.map(isWhole))).every(Boolean)) {
    if (performance.now() > end) throw new Error(`The Redis Cluster was not whole after ${READY_MS} ms.`)
    await sleep(25)
  }
}
