// What the doctor found as people read it: findings with their reasons, what pending queries cost, and statements as a script.

import { redact } from '../../base/redact.ts'
import type { DoctorFinding, DoctorReport, JobCosts, StatementCost } from '../../operate/index.ts'
import { fittedTable, type Output, visible } from '../output.ts'

/** Where no terminal says otherwise. */
const usualWidth = 100

/** Everything that was found, and the costs. */
export function doctorText(report: DoctorReport, from: string, color: Output['color'], width = usualWidth): string {
  const { findings, jobs, healthy, stopped } = report
  const of = (level: DoctorFinding['level']) => findings.filter((each) => each.level === level).length
  const counts = [
    ...(of('bad') > 0 ? [color.red(`${of('bad')} bad`)] : []),
    ...(of('warn') > 0 ? [color.yellow(`${of('warn')} worth a change`)] : []),
    ...(of('note') > 0 ? [`${of('note')} good to know`] : []),
  ]
  const verdict = stopped
    ? color.yellow('stopped before the end')
    : healthy
      ? color.green('healthy')
      : color.red('unhealthy')
  const head = `${verdict}: ${counts.join(', ') || 'nothing to tell'} (${visible(from)}, ${queries(jobs.length)})`
  const measured = jobs.filter(({ page }) => page !== null)
  return [
    head,
    ...(findings.length > 0 ? [findings.map((finding) => findingText(finding, color)).join('\n')] : []),
    ...(measured.length > 0 ? [costsTable(measured, color, width)] : []),
    ...(statementsOf(report).length > 0 ? [color.dim('`regrow doctor --fix` prints the statements.')] : []),
  ].join('\n\n')
}

const queries = (count: number) => (count === 1 ? '1 pending query explained' : `${count} pending queries explained`)

function findingText({ level, code, message, why, hint }: DoctorFinding, color: Output['color']): string {
  const sign = { bad: color.red('!!'), warn: color.yellow('! '), note: color.dim('· ') }[level]
  const lines = [color.dim(told(why)), `→ ${told(hint)}`].map((line) => `   ${line}`)
  return [`${sign} ${told(message)} ${color.dim(`[${code}]`)}`, ...lines].join('\n')
}

/** Errors come from anywhere: no secrets, no control characters. Lists keep their lines. */
const told = (text: string) => redact(text).split('\n').map(visible).join('\n   ')

function costsTable(jobs: readonly JobCosts[], color: Output['color'], width: number): string {
  const column = (heading: string, cell: (job: JobCosts) => string, rank = 0) => ({
    heading,
    cells: jobs.map(cell),
    rank,
  })
  const of = (name: string, cost: (job: JobCosts) => StatementCost | null, rank: number) => [
    column(name, (job) => number(cost(job)?.rows), rank),
    column('read', (job) => number(cost(job)?.rowsRead), rank),
    column('blocks', (job) => number(cost(job)?.blocks), rank + 1),
    column('ms', (job) => number(cost(job)?.ms), rank),
  ]
  return fittedTable(
    color,
    [
      column('job', ({ job }) => job),
      ...of('page', ({ page }) => page, 0),
      ...of('next page', ({ nextPage }) => nextPage, 6),
      ...of('last page', ({ lastPage }) => lastPage, 4),
      ...of('check', ({ check }) => check, 2),
    ],
    width,
  )
}

const number = (value: number | null | undefined) => (value == null ? '–' : value.toLocaleString('en'))

/** Each statement once, with what it is for. */
export function statementsOf({ findings }: DoctorReport): { readonly for: readonly string[]; readonly sql: string }[] {
  const byText = new Map<string, string[]>()
  for (const { fix, message } of findings)
    if (fix !== null) byText.set(fix, [...(byText.get(fix) ?? []), redact(message).replaceAll(/\s+/g, ' ')])
  return [...byText].map(([sql, reasons]) => ({ for: reasons, sql }))
}

/** A script for a person to read and run. */
export function fixText(report: DoctorReport): string {
  const statements = statementsOf(report)
  const left = report.findings.filter(({ fix, level }) => fix === null && level !== 'note').length
  const rest =
    left === 0
      ? []
      : [`-- ${left} more ${left === 1 ? 'finding has' : 'findings have'} no statement: see regrow doctor.`]
  if (statements.length === 0) return ['-- Nothing that a statement would mend.', ...rest].join('\n')
  const concurrently = statements.some(({ sql }) => sql.includes(' concurrently '))
  return [
    '-- Printed by regrow doctor; nothing was run.',
    ...(concurrently
      ? ['-- What is made concurrently cannot be in a transaction: run these one by one, as psql does.']
      : []),
    ...statements.map(({ for: reasons, sql }) => `\n${reasons.map((each) => `-- ${visible(each)}\n`).join('')}${sql}`),
    ...(rest.length > 0 ? ['', ...rest] : []),
  ].join('\n')
}
