// A person called, or a monitor: is everything well? Built on `status`; runs no query of the user's. What is unhealthy is
// decided in findings.ts alone.

import { RegrowError } from '../base/errors.ts'
import type { DamagedRow, Repair } from '../store/repair.ts'
import type { ScheduleSpec } from '../store/schedules.ts'
import type { HealRow, StoreStatus } from '../store/status.ts'
import type { StaleSchedule, Timetable } from '../store/timetable.ts'
import { damagedText } from './declared-findings.ts'
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
  /** Only looks here. Missing: the store cannot tell damaged rows. */
  readonly repair?: Repair | undefined
}

const healsShown = 10
/** More of them have one reason. */
const staleShown = 20

/** Rejects when the store does not answer: then nobody can say that all is well. */
export async function health(ports: HealthPorts): Promise<Health> {
  const { leaseMs } = ports
  // By itself, and first: because of such a row all of the rest may fail.
  const damaged = await Promise.resolve(ports.repair?.({ whole: false, mend: false })).catch(() => [])
  const all = [status(ports), ports.status.heals(healsShown), staleOnes(ports)] as const
  const [found, heals, stale] = await Promise.all(all).catch((error: unknown) => {
    throw damaged?.[0] ? unreadable(damaged, error) : error
  })
  const list = findings({ ...found, heals, stale, leaseMs, damaged: damaged ?? [] })
  return {
    healthy: list.every(({ level }) => level !== 'bad'),
    ...found,
    findings: list,
    jobs: found.jobs.map((job) => ({ ...job, waiting: waitingOf(job, found.at), drift: drift(job, found.queue) })),
    heals,
  }
}

function unreadable(damaged: readonly DamagedRow[], cause: unknown): RegrowError {
  const [{ table }] = damaged as [DamagedRow]
  const rows = damaged.filter((each) => each.table === table)
  return new RegrowError(
    'rows_damaged',
    `${damagedText(table, rows)}; because of that nobody can say how everything stands`,
    'Start a worker: it puts them right. Find out who else writes to these tables.',
    cause,
  )
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
