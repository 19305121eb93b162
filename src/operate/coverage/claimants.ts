// The jobs that may claim rows of a covered table: those that cover it, and any other whose pending query lives on it.
import { messageOf, RegrowError } from '../../base/errors.ts'
import type { Job } from '../../job/job.ts'
import type { Coverage, StateColumn, StateReader } from '../../store/coverage.ts'
import type { Classify } from '../../store/errors.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import type { Attempts } from './attempts.ts'
import type { ProvingPorts } from './coverage.ts'
import type { Declaration } from './declarations.ts'
import { shownColumn } from './report.ts'

/** One job that may claim rows. */
export interface Claimant {
  readonly job: Job
  /** It covers the column. */
  readonly declared: boolean
  /** Null: a source of the user's own, which can only be asked about keys. */
  readonly reader: StateReader | null
  /** The table's columns that its key is; null: it cannot be told. */
  readonly key: readonly string[] | null
}

/** A job that asks for rows of the table in a join or a subquery, and has a key of another table. */
export interface Neighbour {
  readonly job: Job
  readonly reader: StateReader
}

export async function claimantsOf(
  { store, proving, jobs }: ProvingPorts,
  { state, jobs: declared }: Declaration,
  attempts: Attempts,
): Promise<{ claimants: Claimant[]; neighbours: Neighbour[]; findings: DoctorFinding[] }> {
  const shown = shownColumn(state)
  const claimants: Claimant[] = []
  const neighbours: Neighbour[] = []
  const findings: DoctorFinding[] = []
  for (const job of jobs) {
    const covers = declared.find((each) => each.job === job)?.covers
    if (job.custom && covers) {
      const key = covers.key ?? (state.key.length === job.key.columns.length ? state.key : null)
      claimants.push({ job, declared: true, reader: null, key })
      if (key === null) findings.push(keyless(job, shown))
      continue
    }
    if (!job.query || !(covers || mentions(job, state.table))) continue
    const reader = await attempts.ask(shown, null, () =>
      readerOf(proving, store.classify, state, job, covers?.key ?? null, (error) => {
        // Another job's broken query is no matter of this column; doctor tells of it as that.
        if (covers) findings.push(broken(job, shown, error))
      }),
    )
    if (reader === null) {
      // What it claims is not known, so nothing may be called unclaimed for want of it.
      if (covers) claimants.push({ job, declared: true, reader, key: null })
    } else if (covers) {
      if (!reader.reads) findings.push(unread(job, shown))
      else if (reader.key === null) findings.push(keyless(job, shown))
      if (reader.reads) claimants.push({ job, declared: true, reader, key: reader.key })
    } else if (!reader.driven) continue
    else if (reader.key === null) neighbours.push({ job, reader })
    else claimants.push({ job, declared: false, reader, key: reader.key })
  }
  return { claimants, neighbours, findings }
}

/** False: the query cannot live on that table, whatever is asked of the database. One that cannot even be built does not. */
export function mentions({ query }: Job, table: string): boolean {
  try {
    return query?.().text.toLowerCase().includes(table.toLowerCase()) === true
  } catch {
    return false
  }
}

/** Null, and told: the query cannot be built, or not be run. */
async function readerOf(
  proving: Coverage,
  classify: Classify,
  state: StateColumn,
  job: Job,
  key: readonly string[] | null,
  tell: (error: unknown) => void,
): Promise<StateReader | null> {
  try {
    job.query?.()
  } catch (error) {
    tell(error)
    return null
  }
  try {
    return await proving.reader(state, job, key)
  } catch (error) {
    const mistaken = error instanceof RegrowError ? error.code === 'bad_pending' : classify(error) === 'mistake'
    if (!mistaken) throw error
    tell(error)
    return null
  }
}

const broken = (job: Job, shown: string, error: unknown): DoctorFinding => ({
  level: 'warn',
  code: 'covers_query',
  job: job.name,
  message: `${job.name}: it covers ${shown}, and its pending query cannot be asked: ${messageOf(error).split('\n')[0]}`,
  why: 'What it claims is not known.',
  hint: error instanceof RegrowError ? error.hint : 'Mend the query.',
  fix: null,
})

const unread = (job: Job, shown: string): DoctorFinding => ({
  level: 'warn',
  code: 'covers_unread',
  job: job.name,
  message: `${job.name}: it covers ${shown}, and its pending query does not read that table`,
  why: 'It claims none of its rows.',
  hint: 'Name the table that the query reads, or remove `covers` from this job.',
  fix: null,
})

const keyless = (job: Job, shown: string): DoctorFinding => ({
  level: 'warn',
  code: 'covers_key',
  job: job.name,
  message: `${job.name}: it covers ${shown}, and its key is none of that table's columns as far as can be told`,
  why: 'Rows that no job would find cannot be counted.',
  hint: 'Say which column of the table the key is: covers: { …, key: "id" }.',
  fix: null,
})
