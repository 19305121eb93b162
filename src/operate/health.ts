// A person called, or a monitor: is everything well? Built on `status`; runs no query of the user's. What is unhealthy is
// decided in findings.ts alone.

import type { ScheduleSpec } from '../store/schedules.ts'
import type { HealRow, StoreStatus } from '../store/status.ts'
import type { StaleSchedule, Timetable } from '../store/timetable.ts'
import { type Drift, drift } from './drift.ts'
import { type Finding, findings } from './findings.ts'
import { type JobStatus, type Status, type StatusPorts, status } from './status.ts'
import { type WaitingCount, waitingOf } from './waiting.ts'

/** One job, with how far its hints and claims are from its rows. */
export interface JobHealth extends JobStatus {
  /** Keys that wait for a run, without those in quarantine, and when they were counted; null: no pass has counted them. */
  readonly waiting: WaitingCount | null
  readonly drift: Drift
}

/** How everything stands, and what is wrong with it. */
export interface Health extends Status {
  /** No finding is `bad`. */
  readonly healthy: boolean
  /** What a person should know of, the bad first. */
  readonly findings: readonly Finding[]
  readonly jobs: readonly JobHealth[]
  /** The last ten losses of the queue and how each grew back, newest first. */
  readonly heals: readonly HealRow[]
}

export interface HealthPorts extends StatusPorts {
  readonly timetable: Pick<Timetable, 'stale' | 'find'>
  /** The next instants of a pattern. */
  readonly instants: (spec: ScheduleSpec, afterMs: number, count: number) => number[]
  readonly status: Pick<StoreStatus, 'jobs' | 'workers' | 'queues' | 'heals'>
}

const healsShown = 10
/** More of them have one reason. */
const staleShown = 20

/** Rejects when the store does not answer: then nobody can say that all is well. */
export async function health(ports: HealthPorts): Promise<Health> {
  const { leaseMs } = ports
  const [found, heals, stale] = await Promise.all([status(ports), ports.status.heals(healsShown), staleOnes(ports)])
  const list = findings({ ...found, heals, stale, leaseMs })
  return {
    healthy: list.every(({ level }) => level !== 'bad'),
    ...found,
    findings: list,
    jobs: found.jobs.map((job) => ({ ...job, waiting: waitingOf(job, found.at), drift: drift(job, found.queue) })),
    heals,
  }
}

/** Without those that wait for nothing because their bounds leave no instant: they are over, not late. */
async function staleOnes({ timetable, leaseMs, instants, jobs }: HealthPorts): Promise<StaleSchedule[]> {
  const isOver = async ({ name, why, since }: StaleSchedule) => {
    const row = why === 'missing' ? await timetable.find(name, leaseMs) : null
    if (row === null || row.endAtMs === null) return false
    return instants(row, since.getTime(), 1).length === 0
  }
  const declared = jobs.flatMap(({ name, schedule }) => (schedule ? [name] : []))
  const found = await timetable.stale(staleShown, leaseMs, declared)
  const over = await Promise.all(found.map((each) => isOver(each).catch(() => false)))
  return found.filter((_, i) => !over[i])
}
