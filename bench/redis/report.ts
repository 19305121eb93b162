// What a run prints: one table for people, one object for programs, and the page that is checked in.
import { type Row, shown } from './figures.ts'
import type { RowSpec } from './rows.ts'
import type { Figures } from './task.ts'

export interface Run {
  readonly rows: readonly Row[]
  /** Why the run says nothing; empty when it is valid. */
  readonly invalid: readonly string[]
  readonly limits: Figures
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, unknown>>
  /** Cores, processor and memory: never a name. */
  readonly machine: string
  readonly pairs: number
  readonly quick: boolean
  /** The share of the machine that was busy before each measure, at its highest. */
  readonly busyMax: number
  readonly at: string
}

/** The one object of `--json`. */
export function jsonOf(run: Run): string {
  const { rows, invalid, ...rest } = run
  return JSON.stringify({ rows, ...(invalid.length > 0 ? { invalid } : {}), ...rest })
}

const headings = ['row', 'guard', 'unit', 'regrow', 'BullMQ', 'ratio', 'range', 'mark', 'raw limit']

/** The cells of the table, headings first. */
function cells(run: Run, specs: readonly RowSpec[]): string[][] {
  const body = specs.flatMap((spec) => {
    const row = run.rows.find(({ id }) => id === spec.id)
    if (!row) return []
    const { regrow, peers, ratio, range, mark, met } = row
    const sign = spec.better === 'higher' ? '≥' : '≤'
    const times = ratio === null ? ` ${spec.unit}` : '×'
    return [
      [
        row.id,
        spec.guard,
        row.unit,
        shown(regrow),
        Object.entries(peers)
          .map(([name, value]) =>
            name === 'bullmq' ? shown(value) : `${shown(value)} (${name.replace('bullmq, ', '')})`,
          )
          .join(', ') || '–',
        ratio === null ? '–' : `${shown(ratio)}×`,
        `${shown(range[0])}–${shown(range[1])}`,
        `${sign} ${mark}${times} ${met ? 'met' : 'MISSED'}`,
        limitOf(run, spec),
      ],
    ]
  })
  return [headings, ...body]
}

/** The raw limit in the unit of its row; a rebuild is as many pushes as it has rows. */
function limitOf({ limits }: Run, { limit, unit, regrow }: RowSpec): string {
  const value = limit === null ? undefined : limits[limit]
  if (value === undefined) return '–'
  return shown(unit === 's' ? regrow.task.jobs / value : value)
}

export function textOf(run: Run, specs: readonly RowSpec[]): string {
  const table = cells(run, specs)
  const widths = headings.map((_, column) => Math.max(...table.map((line) => (line[column] as string).length)))
  const lines = table.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd(),
  )
  return [...lines, '', ...notes(run)].join('\n')
}

function notes({ pairs, quick, busyMax, versions, machine, invalid }: Run): string[] {
  return [
    `Medians of ${pairs} pairs${quick ? ' with few jobs (--quick)' : ''}, measured in turn; the range is that of the paired ratios. Rows with guard "none" are not the default.`,
    `${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}; ${machine}. Others had at most ${Math.round(busyMax * 100)} % of the machine before a measure.`,
    ...(invalid.length > 0
      ? ['INVALID: BullMQ stayed below 70 % of what it is known to do, so the machine was disturbed.', ...invalid]
      : []),
  ]
}

/** bench/RESULTS.md. */
export function pageOf(run: Run, specs: readonly RowSpec[]): string {
  const [head, ...body] = cells(run, specs).map((line) => `| ${line.join(' | ')} |`)
  const titles = specs.map(({ id, title }) => `- \`${id}\`: ${title}`)
  return [
    '# Results',
    '',
    `Written by \`npm run bench -- redis --write\` on ${run.at.slice(0, 10)}. How it is measured: [docs/benchmarks.md](../docs/benchmarks.md).`,
    '',
    head,
    `|${headings.map(() => '---|').join('')}`,
    ...body,
    '',
    ...titles,
    '',
    ...notes(run),
    '',
    '## Settings',
    '',
    ...Object.entries(run.settings).map(([name, value]) => `- ${name}: \`${JSON.stringify(value)}\``),
    '',
  ].join('\n')
}
