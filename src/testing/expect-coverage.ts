// The coverage contract in a user's own tests: one call that throws when a state has no job. For PGlite with the user's
// migrations, or any store; no test runner is imported.

import { RegrowError } from '../index.ts'
import {
  type CoverageOptions,
  type CoverageReport,
  type DoctorFinding,
  type Operable,
  operate,
} from '../operate/index.ts'

/** What `expectCoverage` asks, and what it lets pass. */
export interface ExpectCoverageOptions extends CoverageOptions {
  /** Codes of findings that are meant to be, such as `'rows_shared'`. Defaults to none. Notes always pass. */
  ignore?: readonly string[]
}

/**
 * Throws one error that lists every state without a job, every row that no job would find, and what is wrong with `covers`;
 * also when no job has any `covers`. Answers the report. `app`: with all its jobs declared; nothing is written, no worker is needed.
 */
export async function expectCoverage(app: Operable, options: ExpectCoverageOptions = {}): Promise<CoverageReport> {
  const { ignore = [], ...asked } = options
  const report = await operate(app).coverage(asked)
  const found = report.findings.filter(({ level, code }) => level !== 'note' && !ignore.includes(code))
  if (report.columns.length === 0 && found.length === 0)
    throw new RegrowError(
      'not_covered',
      'No job of this app covers a table, so there is nothing to expect',
      "Add covers: { table, column, terminal } to a job, and import the files that declare the app's jobs before this call.",
    )
  if (found.length > 0)
    throw new RegrowError(
      'not_covered',
      `Coverage: ${found.length} ${found.length === 1 ? 'thing is' : 'things are'} wrong\n${found.map(line).join('\n')}`,
      'Mend that; what is meant to be may be passed as `ignore: [code]`.',
    )
  return report
}

const line = ({ code, message, hint }: DoctorFinding) => `  - ${message} [${code}]\n    ${hint}`
