// Lower arrow: claims of dead holders are ended, their keys hinted at once, and their jobs' sweeps made due (L5).
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Push } from '../queue/push.ts'
import type { Sweeps } from '../store/sweeps.ts'
import type { Workers } from '../store/workers.ts'

/** A dead worker's keys start within its lease and 2 s. */
const lookMs = 1_800

export function freeLoop(ports: {
  workers: Workers
  sweeps: Sweeps
  push: Push
  events: Events<EventMap>
  leaseMs: number
}): LoopSpec {
  const { workers, sweeps, push, events, leaseMs } = ports
  return {
    name: 'free_dead',
    async tick() {
      const { workers: dead, keys, pardoned } = await workers.free(leaseMs)
      const runnable = [...keys.filter(({ quarantined }) => !quarantined), ...pardoned]
      if (runnable.length > 0) {
        // They were running: ahead of everything that only waits.
        await push(runnable.map(({ job, key }) => ({ job, key, delayMs: 0, fresh: true })))
        await sweeps.makeDue([...new Set(runnable.map(({ job }) => job))])
      }
      if (dead > 0 || keys.length > 0) events.emit('worker.freed', { workers: dead, keys: keys.length })
      for (const { why, ...crashed } of keys)
        if (why !== 'waited') events.emit('job.crashed', { ...crashed, alone: why === 'alone' })
      return Math.min(lookMs, leaseMs / 5)
    },
  }
}
