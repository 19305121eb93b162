// The loops of one working process, both arrows, and the signals by which one makes another begin its next round at once.
import type { LoopSpec } from '../base/loop.ts'
import { Signal } from '../base/signal.ts'
import { type LoopReport, Watchdog } from '../base/watchdog.ts'
import type { LoopName } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import { auditLoop } from '../schedule/audit.ts'
import { declareSchedules } from '../schedule/declare.ts'
import { isRefusal } from '../store/errors.ts'
import type { DamagedRow } from '../store/repair.ts'
import { sweepLoops } from '../sweep/loops.ts'
import type { Worker } from '../worker/worker.ts'
import type { Opened, Resources } from './resources.ts'

/** What one loop of a process wants of another one, now. */
export interface ProcessSignals {
  /** The worker is registered: it may pop. */
  readonly popNow: Signal
  /** Sweeps and the audit of schedules are due. */
  readonly sweepNow: Signal
  /** What this process declares of schedules is to be declared again. */
  readonly declareNow: Signal
}

export const processSignals = (): ProcessSignals => ({
  popNow: new Signal(),
  sweepNow: new Signal(),
  declareNow: new Signal(),
})

export interface ProcessLoops {
  start(): void
  /** Declares schedules, and makes the slots that are missing, now: for a drain, which has no loop for that. */
  auditNow(signal: AbortSignal): Promise<void>
  /** Ends the loops that begin work: pops and sweeps. */
  stopBeginning(): Promise<void>
  /** Ends all of them. */
  stop(): Promise<void>
  report(): LoopReport[]
}

export interface ProcessPorts {
  readonly resources: Resources
  readonly opened: Opened
  readonly worker: Worker
  /** Jobs that this process works on. */
  readonly jobs: readonly Job[]
  readonly concurrency: number
  readonly signals: ProcessSignals
  /** A drain pops and sweeps by itself: it has only the loops that keep its claims and see to what others lost. */
  readonly drains: boolean
  /** The store refuses this worker, and would refuse it again. */
  readonly refused: (error: unknown) => void
}

export function processLoops(ports: ProcessPorts): ProcessLoops {
  const { resources, opened, worker, signals, refused } = ports
  const { clock, random, events, errors, lossSuspected, queueFailed, damageSuspected } = resources
  const { beat, pop, timeouts } = worker.loops()
  const { free, sweep, local, canary, repair } = sweepLoops(sweepPorts(ports))
  const audits = auditLoop(auditPorts(ports))
  const probe = opened.fallback.probing()
  const failed = (loop: string, error: unknown) => {
    events.emit('loop.failed', { loop: loop as LoopName, error })
    if (loop === beat.name && isRefusal(errors.classify(error))) refused(error)
  }
  const kept = [beat, timeouts, free, canary, repair, probe]
  const all: readonly LoopSpec[] = ports.drains ? kept : [...kept, pop, sweep, local, audits]
  const watchdog = new Watchdog(all, { clock, random, failed }, (loop) =>
    events.emit('loop.stalled', { loop: loop as LoopName }),
  )
  signals.popNow.listen(() => watchdog.wake(pop))
  signals.sweepNow.listen(() => {
    audits.anew()
    watchdog.wake(sweep, audits)
  })
  signals.declareNow.listen(() => {
    audits.declareAgain()
    watchdog.wake(audits)
  })
  const deaf = [
    lossSuspected.listen(() => watchdog.wake(canary)),
    queueFailed.listen(() => watchdog.wake(probe, local)),
    damageSuspected.listen(() => {
      repair.suspect(true)
      watchdog.wake(repair)
    }),
    // Nonsense may fail what is computed of it here, too.
    events.on('loop.failed', ({ loop, error }) => {
      if (loop === repair.name || errors.isAway(error)) return
      repair.suspect(false)
      watchdog.wake(repair)
    }),
  ]
  return {
    start: () => watchdog.start(),
    auditNow: async (signal) => {
      audits.anew()
      await audits.tick(signal)
    },
    stopBeginning: () => watchdog.stop(pop, sweep, local, free),
    stop: () => {
      for (const end of deaf) end()
      return watchdog.stop()
    },
    report: () => watchdog.report(),
  }
}

const sweepPorts = ({ resources, opened, worker, jobs, concurrency, signals }: ProcessPorts) => {
  const { clock, random, events, leaseMs, author, isProduction } = resources
  const { store, queue, canary, source, push, fill } = opened
  return {
    ...store,
    ...{ clock, random, events, push, fill, source, queue, canary, leaseMs, concurrency, by: author, jobs },
    holder: () => worker.claims.holder,
    mayBegin: () => worker.sure(),
    sweepsAtStart: !isProduction(),
    sweepNow: () => signals.sweepNow.fire(),
    repaired: (rows: readonly DamagedRow[]) =>
      rows.some(({ table }) => table === 'schedules') && signals.declareNow.fire(),
  }
}

const auditPorts = ({ resources, opened, worker, jobs }: ProcessPorts) => {
  const { clock, random, events, leaseMs } = resources
  const { store, queue, push } = opened
  const recurring = { schedules: store.schedules, clock, random, events, push, leaseMs, queue }
  return { ...recurring, mayBegin: () => worker.sure(), declare: () => declareSchedules(recurring, jobs) }
}
