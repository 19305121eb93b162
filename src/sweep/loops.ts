// The lower arrow as it runs in a working process: every loop of it, wired. They bring all that is pending to its end once
// faults are over, and then rest (L1).
import type { LoopSpec } from '../base/loop.ts'
import type { Workers } from '../store/workers.ts'
import { canaryLoop, type LostPorts } from './canary-loop.ts'
import { freeLoop } from './free-dead-workers.ts'
import { heartbeats } from './heartbeat-url.ts'
import { type OwnPorts, ownLoop } from './local-sweep.ts'
import { type RepairPorts, repairLoop } from './repair-loop.ts'
import { sweepLoop, type TurnPorts } from './sweep-loop.ts'

export type SweepingPorts = Omit<TurnPorts, 'heartbeat' | 'emptyQueue' | 'epoch'> &
  OwnPorts &
  RepairPorts &
  Omit<LostPorts, 'firstSeen'> & {
    readonly workers: Workers
    readonly leaseMs: number
  }

/** The loops, by what they do. */
export type SweepLoops = Readonly<Record<'free' | 'sweep' | 'local' | 'canary', LoopSpec>> & {
  readonly repair: ReturnType<typeof repairLoop>
}

export function sweepLoops(ports: SweepingPorts): SweepLoops {
  const names = ports.jobs.map(({ name }) => name)
  return {
    free: freeLoop(ports),
    repair: repairLoop(ports),
    sweep: sweepLoop({
      ...ports,
      emptyQueue: !ports.queue.shared,
      epoch: () => ports.canary.epoch,
      heartbeat: heartbeats(ports),
    }),
    local: ownLoop(ports),
    canary: canaryLoop({ ...ports, firstSeen: () => ports.sweeps.makeDue(names, { anew: true }) }),
  }
}
