// A TCP proxy on 127.0.0.1 in front of a server: it cuts connections, refuses them, or leaves them open and swallows every
// byte, as a firewall does that forgot them.

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Where connections go from now on; those that are there stay where they are. */
  to(port: number): void
  /** Connections that are open now, mute ones included. */
  connections(): number
  /** Cuts every connection with a reset; new ones get through. Returns how many there were. */
  reset(): number
  /** From now on every byte is swallowed, of new connections, too; nothing is closed. */
  swallow(): void
  /** The same for connections alone whose client began with this text; returns how many there are. */
  swallowThose(said: string): number
  /** New connections are cut at once. */
  refuse(): void
  /** New connections get through again; those that became mute stay so for ever. */
  pass(): void
  close(): Promise<void>
}

type Mode = 'pass' | 'swallow' | 'refuse'

/** So much of what a client says first is kept. */
const saidMost = 4_096

/** Starts a proxy in front of a port of this machine. */
export async function startProxy(behind: number): Promise<TcpProxy> {
  let target = behind
  let mode: Mode = 'pass'
  const pairs = new Set<{ client: Socket; server: Socket | undefined; mute: boolean; said: string }>()

  const proxy = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy()
    const server = mode === 'swallow' ? undefined : connect({ port: target, host: '127.0.0.1' })
    const pair = { client, server, mute: server === undefined, said: '' }
    client.on('data', (bytes) => {
      if (pair.said.length < saidMost) pair.said += bytes.toString('latin1')
    })
    pairs.add(pair)
    const over = () => {
      // Who is mute hears nothing of the other end, not even that it is gone.
      if (pair.mute) return
      pairs.delete(pair)
      client.destroy()
      server?.destroy()
    }
    const relay = (from: Socket, into: Socket | undefined) => {
      from.setNoDelay(true)
      from.on('data', (bytes) => !pair.mute && into?.write(bytes))
      from.on('error', () => {})
      from.on('close', over)
    }
    relay(client, server)
    if (server) relay(server, client)
  })
  await new Promise<void>((resolve) => proxy.listen({ port: 0, host: '127.0.0.1' }, resolve))

  const reset = () => {
    const cut = [...pairs]
    pairs.clear()
    for (const { client, server } of cut) {
      client.resetAndDestroy()
      server?.destroy()
    }
    return cut.length
  }
  return {
    port: (proxy.address() as AddressInfo).port,
    to: (port) => {
      target = port
    },
    connections: () => pairs.size,
    reset,
    swallow: () => {
      mode = 'swallow'
      for (const pair of pairs) pair.mute = true
    },
    swallowThose: (said) => {
      const those = [...pairs].filter((pair) => pair.said.includes(said))
      for (const pair of those) pair.mute = true
      return those.length
    },
    refuse: () => {
      mode = 'refuse'
    },
    pass: () => {
      mode = 'pass'
    },
    close: async () => {
      const closed = new Promise<void>((resolve) => proxy.close(() => resolve()))
      reset()
      await closed
    },
  }
}
