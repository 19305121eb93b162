// What a process declares is there from its first audit on. Absence ends nothing: only a person does, or seven days without a
// live worker that has it.
import type { Job } from '../job/job.ts'
import type { Recurrence } from '../job/schedule.ts'
import type { ScheduleSpec } from '../store/schedules.ts'
import { type KeepPorts, keeping, patternMistake } from './keep.ts'
import { keep } from './plan.ts'

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

/** Adds and changes what these jobs declare, and makes their slots. */
export async function declareSchedules(ports: KeepPorts, jobs: readonly Job[]): Promise<void> {
  const specs = jobs.flatMap((job) => (job.schedule ? [specOf(job, job.schedule)] : []))
  if (specs.length > 0) await keepSchedules(ports, await ports.schedules.declare(specs))
}

/** Makes the slots that these schedules should have now. `reason`: why instants that have passed do not run. */
export async function keepSchedules(
  ports: KeepPorts,
  names: readonly string[],
  reason: 'missed' | 'paused' = 'missed',
): Promise<void> {
  await keeping(ports, names, (row, plan) => ({ write: keep(row, plan, reason), value: null }))
}

/** Mistakes in a job's pattern: bad cron text, an unknown zone, one that never fires. */
export function scheduleMistakes({ name, schedule }: Job): string[] {
  const mistake = schedule && (schedule.cron ?? schedule.everyMs) !== null && patternMistake(schedule)
  return mistake ? [`job "${name}": ${mistake}`] : []
}
