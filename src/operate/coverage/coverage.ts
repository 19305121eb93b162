// A person called, or a CI: is every state of the covered tables either terminal or claimed by some job? In: the jobs and what
// their `covers` say. Out: what was found of each column, and findings. Reads only; what takes too long is told as not known.
import type { Clock } from '../../base/clock.ts'
import { RegrowError } from '../../base/errors.ts'
import { checkOptions, type Option } from '../../base/options.ts'
import { isOptions, unknownOptions } from '../../base/suggest.ts'
import type { Job } from '../../job/job.ts'
import type { Coverage, TrialRow } from '../../store/coverage.ts'
import type { Source } from '../../store/source.ts'
import type { Store } from '../../store/store.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import { Attempts } from './attempts.ts'
import { examineColumn } from './column.ts'
import { type Declaration, declarations } from './declarations.ts'
import { findingsOf } from './findings.ts'
import { type CoveredColumn, shownColumn } from './report.ts'

/** The ports of a store that can prove such things. */
export interface ProvingPorts extends CoveragePorts {
  readonly proving: Coverage
}

/** What coverage needs. */
export interface CoveragePorts {
  readonly clock: Clock
  readonly store: Pick<Store, 'coverage' | 'classify'>
  readonly jobs: readonly Job[]
  readonly source: (job: Job) => Source
}

export interface CoverageOptions {
  /**
   * Rows as they might be, by table, for queries that ask more than the state: a query that returns such a row with some state
   * claims that state. They are tried in the statement alone, never written. Columns that are left out are null.
   */
  rows?: Readonly<Record<string, readonly TrialRow[]>>
}

/** The coverage contract, held against the database. */
export interface CoverageReport {
  /** No finding is `bad` or `warn`. */
  readonly covered: boolean
  readonly columns: readonly CoveredColumn[]
  /** The bad first. */
  readonly findings: readonly DoctorFinding[]
}

/** Longer, nobody waits for it; what was not looked at by then is told. */
const budgetMs = 120_000

/** Looks at every column that some job covers. Rejects when the store does not answer. */
export async function coverage(ports: CoveragePorts, options: CoverageOptions = {}): Promise<CoverageReport> {
  checkOptions('coverage()', options, { rows: byTable }, 'Nothing was examined.')
  const proving = ports.store.coverage
  if (!proving) return unproven(ports.jobs)
  const { rows = {} } = options
  const attempts = new Attempts(ports.clock, ports.store.classify, budgetMs)
  const { columns: declared, findings } = await declarations(proving, ports.jobs, attempts)
  refuseUnknown(options, declared)
  const columns: CoveredColumn[] = []
  for (const declaration of declared) {
    const seen = await examineColumn({ ...ports, proving }, declaration, trialRows(declaration, rows), attempts)
    columns.push(seen.column)
    findings.push(...seen.findings, ...findingsOf(seen.column))
  }
  findings.push(...attempts.findings())
  const ranked = (['bad', 'warn', 'note'] as const).flatMap((level) => findings.filter((each) => each.level === level))
  return { covered: ranked.every(({ level }) => level === 'note'), columns, findings: ranked }
}

/** The store cannot prove which rows a query returns: nothing is known of the columns that jobs cover. */
function unproven(jobs: readonly Job[]): CoverageReport {
  const declared = jobs.filter(({ covers }) => covers.length > 0)
  const findings = declared.map(
    ({ name }): DoctorFinding => ({
      level: 'warn',
      code: 'coverage_unknown',
      job: name,
      message: `${name}: what it covers was not examined: this store cannot prove which rows a query returns`,
      why: 'What was not looked at is not known to be covered.',
      hint: 'Test the pending query with a row in each state, or remove `covers`.',
      fix: null,
    }),
  )
  return { covered: findings.length === 0, columns: [], findings }
}

/** What is wrong with the coverage contract, for the doctor. */
export const coverageFindings = async (ports: CoveragePorts): Promise<readonly DoctorFinding[]> =>
  (await coverage(ports)).findings

const byTable: Option = {
  expected: "an object of rows by table, such as { orders: [{ state: 'new' }] }",
  fits: (value) => isOptions(value) && Object.values(value as object).every(Array.isArray),
}

/** Rows of a table that nobody covers would be tried nowhere, and the test that gave them would prove nothing. */
function refuseUnknown(options: CoverageOptions, declared: readonly Declaration[]): void {
  const tables = [...new Set(declared.flatMap(namesOf))]
  const wrong = declared.length > 0 ? unknownOptions(options.rows ?? {}, tables, 'rows of coverage') : []
  if (wrong.length > 0)
    throw new RegrowError('bad_options', wrong.join('; '), 'Name covered tables as they are called.')
}

/** Every name of the table that somebody may have written. */
const namesOf = ({ state, jobs }: Declaration): string[] => [
  ...jobs.map(({ covers }) => covers.table),
  state.table,
  `${state.schema}.${state.table}`,
  shownColumn(state).split('.')[0] as string,
]

function trialRows(declaration: Declaration, rows: NonNullable<CoverageOptions['rows']>): readonly TrialRow[] {
  const names = new Set(namesOf(declaration))
  return Object.entries(rows).flatMap(([name, list]) => (names.has(name) ? list : []))
}
