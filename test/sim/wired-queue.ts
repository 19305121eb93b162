// A queue server as processes reach it: over the network. A pop waits at the server; the hints it takes for somebody who died
// meanwhile are gone, and that is allowed.

import { RegrowError } from '../../src/base/errors.ts'
import type { QueueDriver } from '../../src/drivers/driver.ts'
import type { Hint } from '../../src/queue/hint.ts'
import type { Popped, PopRequest, Queue } from '../../src/queue/queue.ts'
import { outOfMemory } from '../../src/queue/queue.ts'
import type { Kernel } from './kernel.ts'
import type { Network } from './network.ts'
import type { SimQueue } from './queue/sim-queue.ts'
import type { SimProcess } from './sim-process.ts'
import type { Tally } from './tally.ts'

export interface QueueServer {
  readonly kernel: Kernel
  readonly network: Network
  readonly queue: SimQueue
  readonly tally: Tally
  /** It has no memory left: every push is refused. */
  full: boolean
  /** Throws where it cannot hold one of these hints. */
  readonly refuse: (hints: readonly Hint[]) => void
  /** Looks again for everybody who waits. */
  readonly waiting: Set<() => void>
  /** Called after each push that was executed; `sentAt`: when it was sent. */
  readonly pushed: (hints: readonly { job: string; key: string }[], sentAt: number) => void
  /** Called with what a pop took, and for whom. */
  readonly popped: (process: SimProcess, request: PopRequest, hints: readonly { job: string; key: string }[]) => void
}

/** A driver whose queue is the server's, as `process` reaches it. */
export function wiredQueue(process: SimProcess, server: QueueServer): QueueDriver {
  const { network, queue } = server
  const call = <T>(name: string, args: readonly unknown[], work: () => Promise<T> | T): Promise<T> =>
    network.call({ from: process, to: 'queue', name, work, words: () => JSON.stringify(args).slice(0, 300) })
  const wired: Queue = {
    name: 'simulated',
    shared: true,
    push: (hints, options) => {
      const sentAt = server.kernel.now()
      return call('queue.push', [hints, options], () => {
        if (server.full) {
          server.tally.fault('queue out of memory')
          throw new RegrowError(outOfMemory, 'The queue has no memory left', 'Give it more.')
        }
        server.refuse(hints)
        const pushed = queue.push(hints, options)
        server.pushed(hints, sentAt)
        return pushed
      })
    },
    pop: (request, signal) =>
      call('queue.pop', [request], async () => {
        const popped = await waited(server, process, request, signal)
        server.popped(process, request, popped.hints)
        return popped
      }),
    setMark: (mark) => call('queue.setMark', [mark], () => queue.setMark(mark)),
    advanceMark: (known) => call('queue.advanceMark', [known], () => queue.advanceMark(known)),
    count: (jobs) => call('queue.count', [jobs], () => queue.count(jobs)),
    wipe: () => call('queue.wipe', [], () => queue.wipe()),
    close: async () => {},
  }
  return { kind: 'queue', name: 'simulated', open: async () => wired }
}

/** Waits at the server for the first hint, as long as the request says and its sender lives. */
function waited(
  { kernel, queue, waiting }: QueueServer,
  process: SimProcess,
  request: PopRequest,
  signal: AbortSignal | undefined,
): Promise<Popped> {
  const until = kernel.now() + request.waitMs
  const names = request.jobs.map(({ job }) => job)
  return new Promise((resolve) => {
    let cancel = () => {}
    const look = () => {
      cancel()
      if (process.state === 'dead') return void waiting.delete(look)
      const popped = queue.pop(request)
      if (popped.hints.length > 0 || kernel.now() >= until || signal?.aborted) {
        waiting.delete(look)
        deaf()
        return resolve(popped)
      }
      waiting.add(look)
      cancel = kernel.after(Math.max(0.1, Math.min(until, queue.nextDue(names)) - kernel.now()), look)
    }
    const deaf = process.listen(signal, look)
    look()
  })
}
