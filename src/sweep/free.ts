// Lower arrow: claims of dead holders are ended, and their keys hinted at once. Should we die in between: the sweep.
import type { LoopSpec } from '../base/loop.ts'
import type { Push } from '../queue/push.ts'
import type { Workers } from '../store/workers.ts'

export function freeLoop(workers: Workers, push: Push, leaseMs: number): LoopSpec {
  return {
    name: 'free',
    async tick() {
      const keys = await workers.free(leaseMs)
      // They were running: ahead of everything that only waits.
      await push(keys.map(({ job, key }) => ({ job, key, delayMs: 0, fresh: true })))
      return Math.min(1_000, leaseMs / 5)
    },
  }
}
