// regrow/memory: hints in this process's memory. Lost with the process; the sweep brings them back.
import { isOptions, kindOfValue, unknownOptions } from '../../base/suggest.ts'
import { boundMistakes, type QueueBounds } from '../../queue/hint.ts'
import { MemoryQueue } from '../../queue/memory.ts'
import type { QueueDriver } from '../driver.ts'

/** A queue in this process's memory. Each process has its own, so a web process's enqueue does not reach a worker process. */
export function memory(bounds: Partial<QueueBounds> = {}): QueueDriver {
  const mistakes = isOptions(bounds)
    ? [...unknownOptions(bounds, ['maxHints', 'maxDelayed'], 'memory()'), ...boundMistakes(bounds, 'memory()')]
    : [`memory(): the options are ${kindOfValue(bounds)}; expected an object such as { maxHints: 50_000 }`]
  return { kind: 'queue', name: 'memory', mistakes, open: async ({ clock }) => new MemoryQueue(clock, bounds) }
}
