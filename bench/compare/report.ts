// What a run prints: one table for people, one object for programs, and its section of the page that is checked in.
import { type Row, type RowKind, shown } from './figures.ts'
import type { RowText } from './row.ts'
import { sideOf } from './side.ts'
import type { Figures } from './task.ts'

/** Which comparison it is. */
export interface Bench {
  /** As in `npm run bench -- NAME`. */
  readonly name: string
  /** The heading of its section. */
  readonly title: string
  /** A column of the table for each side that is compared with, and how it is spelt. */
  readonly peers: Readonly<Record<string, string>>
}

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

/** The cells of the table, headings first. */
function cells(bench: Bench, run: Run, specs: readonly RowText[]): string[][] {
  const headings = [
    'row',
    'guard',
    'unit',
    'regrow',
    ...Object.values(bench.peers),
    'ratio',
    'range',
    'mark',
    'raw limit',
  ]
  const body = specs.flatMap((spec) => {
    const row = run.rows.find(({ id }) => id === spec.id)
    if (!row) return []
    return [
      [
        row.id,
        spec.guard,
        row.unit,
        shown(row.regrow),
        ...Object.keys(bench.peers).map((side) => peerCell(row, side)),
        ratioCell(row),
        `${shown(row.range[0])}–${shown(row.range[1])}`,
        row.mark === null ? '–' : `${markCell(row, spec.better)} ${row.met ? 'met' : 'MISSED'}`,
        limitOf(run, spec),
      ],
    ]
  })
  return [headings, ...body]
}

/** All ways of a side, the others with their names. */
function peerCell({ peers }: Row, side: string): string {
  const ways = Object.entries(peers).filter(([name]) => sideOf(name) === side)
  const text = ways.map(([name, value]) => (name === side ? shown(value) : `${shown(value)} (${name.split(', ')[1]})`))
  return text.join(', ') || '–'
}

/** Against each side where each has a mark of its own, else against the best. */
function ratioCell({ ratio, ratios, mark }: Row): string {
  if (ratio === null) return '–'
  const all = typeof mark === 'number' ? [ratio] : Object.keys(mark ?? ratios).map((peer) => ratios[peer] ?? Number.NaN)
  return all.map((each) => `${shown(each)}×`).join(' / ')
}

function markCell({ ratio, mark, unit }: Row, better: RowKind['better']): string {
  const sign = better === 'higher' ? '≥' : '≤'
  const all = typeof mark === 'number' ? [mark] : Object.values(mark ?? {})
  return all.map((each) => `${sign} ${each}${ratio === null ? ` ${unit}` : '×'}`).join(' / ')
}

/** The raw limit in the unit of its row; a rebuild is as many pushes as it has rows. */
function limitOf({ limits }: Run, { limit, unit, jobs }: RowText): string {
  const value = limit === null ? undefined : limits[limit]
  if (value === undefined) return '–'
  return shown(unit === 's' ? jobs / value : value)
}

/** `more`: lines between the table and the notes. */
export function textOf(bench: Bench, run: Run, specs: readonly RowText[], more: readonly string[] = []): string {
  return [...aligned(cells(bench, run, specs)), '', ...more, ...notes(run)].join('\n')
}

/** Lines whose columns stand below each other. */
export function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)))
  return table.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd(),
  )
}

function notes({ pairs, quick, busyMax, versions, machine, invalid }: Run): string[] {
  const some = pairs === 1 ? 'One pair' : `Medians of ${pairs} pairs`
  return [
    `${some}${quick ? ' with few jobs (--quick)' : ''}, measured in turn; the range is that of the paired ratios. Rows with guard "none" are not the default.`,
    `${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}; ${machine}. Others had at most ${Math.round(busyMax * 100)} % of the machine before a measure.`,
    ...(invalid.length > 0
      ? ['INVALID: a peer stayed below 70 % of what it is known to do, so the machine was disturbed.', ...invalid]
      : []),
  ]
}

/** The table of a page, as Markdown. */
export const markdownOf = ([head = [], ...body]: readonly (readonly string[])[]): string[] => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---|').join('')}`,
  ...body.map((line) => `| ${line.join(' | ')} |`),
]

/** Its section of bench/RESULTS.md; see page.ts. `more`: lines between the rows' meanings and the notes. */
export function sectionOf(bench: Bench, run: Run, specs: readonly RowText[], more: readonly string[] = []): string {
  return [
    `## ${bench.title}`,
    '',
    `Written by \`npm run bench -- ${bench.name} --write\` on ${run.at.slice(0, 10)}.`,
    '',
    ...markdownOf(cells(bench, run, specs)),
    '',
    ...specs.map(({ id, title }) => `- \`${id}\`: ${title}`),
    '',
    ...more,
    ...notes(run),
    '',
    '### Settings',
    '',
    ...Object.entries(run.settings).map(([name, value]) => `- ${name}: \`${JSON.stringify(value)}\``),
  ].join('\n')
}
