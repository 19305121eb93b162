// What a process declares is there from its first audit on. Absence ends nothing: only a person does, or seven days without a
// live worker that has it.
import { RegrowError } from '../base/errors.ts'
import type { Job } from '../job/job.ts'
import type { Recurrence } from '../job/schedule.ts'
import type { ScheduleSpec } from '../store/schedules.ts'
import { keep } from './plan.ts'
import { type KeepPorts, keeping } from './reconcile.ts'

/** A schedule of the job's own name. */
const specOf = (job: Job, schedule: Recurrence): ScheduleSpec => ({
  ...schedule,
  name: job.name,
  job: job.name,
  lane: job.name,
  key: null,
  input: null,
  declared: true,
})

/**
 * Adds and changes what these jobs declare, and makes their slots. Returns the versions that are declared now, by name; 0 for one that a
 * person ended: its row may have any version, but without a row it is declared again like the others (L10).
 */
export async function declareSchedules(ports: KeepPorts, jobs: readonly Job[]): Promise<Map<string, number>> {
  const specs = jobs.flatMap((job) => (job.schedule ? [specOf(job, job.schedule)] : []))
  if (specs.length === 0) return new Map()
  const names = await ports.schedules.declare(specs)
  for (const { name } of specs)
    if (!names.includes(name))
      ports.events.emit('loop.failed', { loop: 'schedules', schedule: name, error: taken(name) })
  const kept = await keepSchedules(ports, names)
  return new Map(names.map((name) => [name, kept.get(name) ?? 0]))
}

/** The other one was there first; nobody but a person can say which of the two is meant. */
const taken = (name: string) =>
  new RegrowError(
    'schedule_taken',
    `The job "${name}" does not recur: operate(app).schedules.add has made a schedule of that name`,
    'Give one of them another name.',
  )

/**
 * Makes the slots that these schedules should have now. `reason`: why instants that have passed do not run. Returns the version of each;
 * those that have ended have none.
 */
export async function keepSchedules(
  ports: KeepPorts,
  names: readonly string[],
  reason: 'missed' | 'paused' = 'missed',
): Promise<Map<string, number>> {
  const kept = await keeping(ports, names, (row, plan) => ({ write: keep(row, plan, reason), value: row.version }))
  return new Map([...kept].map(([name, { value }]) => [name, value]))
}
