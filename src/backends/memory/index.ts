// regrow/memory: hints in this process's memory. Lost with the process; the sweep brings them back.
import type { QueueBounds } from '../../queue/hint.ts'
import { MemoryQueue } from '../../queue/memory.ts'
import type { QueueDriver } from '../driver.ts'

/** A queue in this process's memory. Each process has its own, so a web process's enqueue does not reach a worker process. */
export function memory(bounds: Partial<QueueBounds> = {}): QueueDriver {
  return { kind: 'queue', name: 'memory', open: async ({ clock }) => new MemoryQueue(clock, bounds) }
}
