// A free port on 127.0.0.1, from below the range that the OS gives to outgoing connections: a server that is
// restarted on its port must find it free again.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)))
  })
}
