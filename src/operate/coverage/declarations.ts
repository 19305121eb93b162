// Which columns are covered, by whom: what jobs say of the same column is brought together, however they spell the table.
import type { CoveredState } from '../../job/covers.ts'
import type { Job } from '../../job/job.ts'
import type { Coverage, StateColumn } from '../../store/coverage.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import type { Attempts } from './attempts.ts'

/** A state column and the jobs that cover it. */
export interface Declaration {
  readonly state: StateColumn
  readonly jobs: readonly { readonly job: Job; readonly covers: CoveredState }[]
}

/** Every covered column that is there, and a finding for each that is not. */
export async function declarations(
  store: Coverage,
  jobs: readonly Job[],
  attempts: Attempts,
): Promise<{ columns: Declaration[]; findings: DoctorFinding[] }> {
  const columns = new Map<string, { state: StateColumn; jobs: { job: Job; covers: CoveredState }[] }>()
  const findings: DoctorFinding[] = []
  for (const job of jobs)
    for (const covers of job.covers) {
      const named = `${covers.table}.${covers.column}`
      const state = await attempts.ask(named, null, () => store.column(covers.table, covers.column))
      if (state === null) continue
      if (typeof state === 'string') {
        findings.push(missing(job, covers, state))
        continue
      }
      const name = JSON.stringify([state.schema, state.table, state.column])
      const known = columns.get(name) ?? { state, jobs: [] }
      columns.set(name, known)
      known.jobs.push({ job, covers })
    }
  return { columns: [...columns.values()], findings }
}

function missing(job: Job, { table, column }: CoveredState, what: 'no_table' | 'no_column'): DoctorFinding {
  const found = what === 'no_table' ? `there is no table "${table}"` : `"${table}" has no column "${column}"`
  return {
    level: 'bad',
    code: 'covers_missing',
    job: job.name,
    message: `${job.name}: it covers ${table}.${column}, and ${found}`,
    why: 'Nothing watches that each state has a job.',
    hint: 'Is it spelt so, migrated, and in this database? A table outside the search_path needs its schema: schema.table.',
    fix: null,
  }
}
