// What people and machines see. A command has one result: text for people, or one JSON document. All of it leaves through here,
// and nothing in it acts on a terminal: names, keys and errors come from anywhere.
import { createColors } from 'picocolors'
import { readable } from '../base/duration.ts'
import { redact } from '../base/redact.ts'
import { visible } from '../base/visible.ts'
import type { Surroundings } from './config.ts'

export { visible }

export interface Output {
  readonly json: boolean
  readonly color: ReturnType<typeof createColors>
  /** The result: `text` for people, `document` for machines. */
  result(document: unknown, text: () => string): void
  /** A line beside the result, on standard error. */
  note(text: string): void
}

export function output(around: Surroundings, json: boolean): Output {
  const colored = around.color && !json
  return {
    json,
    color: createColors(colored),
    result: (document, text) => around.write(`${json ? jsonText(document, 2) : printable(text(), colored)}\n`),
    note: (text) => around.complain(`${printable(redact(text), colored)}\n`),
  }
}

/** `text` with its lines and, where it has some, its colours; whatever else would act on a terminal is shown as its number. */
export function printable(text: string, colored = false): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const kept = colored ? /(\n|\u001b\[\d{1,2}m)/ : /(\n)/
  return text
    .split(kept)
    .map((part, i) => (i % 2 === 1 ? part : visible(part)))
    .join('')
}

/** The same for JSON, which stays JSON: what `visible` would not show as it is becomes `\u…`. */
export function jsonText(document: unknown, indent = 0): string {
  return JSON.stringify(document, null, indent).replace(/[^\n\u0020-\u007e]/gu, (character) =>
    visible(character) === character ? character : escapedUnits(character),
  )
}

const escapedUnits = (character: string) =>
  Array.from({ length: character.length }, (_, i) => character.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

/** The first line of an error, `most` characters at most. */
export function brief(text: string | null, most = 80): string {
  const line = visible((text ?? '').split('\n', 1)[0] ?? '')
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** A line of at most `most` characters; what colours it takes no room, and is ended. */
export function cut(line: string, most: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const parts = line.split(/(\u001b\[[\d;]*m)/)
  const length = parts.reduce((sum, part, i) => sum + (i % 2 === 0 ? part.length : 0), 0)
  if (length <= most) return line
  let left = most - 1
  const kept = parts.map((part, i) => {
    if (i % 2 === 1) return part
    const some = part.slice(0, left)
    left -= some.length
    return some
  })
  return `${kept.join('')}…`
}

/** Columns under their headings; what is all numbers stands to the right. Cells may hold any text: each is made `visible`. */
export function table(color: Output['color'], names: readonly string[], cells: readonly (readonly string[])[]): string {
  const headings = names.map(visible)
  const rows = cells.map((row) => row.map(visible))
  const widths = headings.map((heading, i) => widest(heading, rows, (row) => row[i] ?? ''))
  const right = headings.map((_, i) => rows.length > 0 && rows.every((row) => /^[\d.,+~?–-]*$/.test(row[i] ?? '')))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (right[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join('  ')
      .trimEnd()
  return [color.dim(line(headings)), ...rows.map(line)].join('\n')
}

/** Not Math.max of all: a hundred thousand arguments are more than a call takes. */
const widest = <T>(heading: string, rows: readonly T[], cell: (row: T) => string) =>
  rows.reduce((most, row) => Math.max(most, cell(row).length), heading.length)

/** A column of a table that has to fit. */
export interface Column {
  readonly heading: string
  readonly cells: readonly string[]
  /** Left out where there is no room, the highest first. Defaults to 0: never. */
  readonly rank?: number
}

/** A table of those columns that fit into `width`; one whose cells are all `–` is left out, too. */
export function fittedTable(color: Output['color'], given: readonly Column[], width: number): string {
  const columns = given.map((column) => ({ ...column, cells: column.cells.map(visible) }))
  const widthOf = ({ heading, cells }: Column) => widest(heading, cells, (cell) => cell) + 2
  let shown = columns.filter(({ rank = 0, cells }) => rank === 0 || cells.some((cell) => cell !== '–'))
  while (shown.reduce((sum, column) => sum + widthOf(column), -2) > width) {
    const worst = Math.max(...shown.map(({ rank = 0 }) => rank))
    if (worst === 0) break
    shown = shown.filter(({ rank = 0 }) => rank !== worst)
  }
  const rows = (columns[0]?.cells ?? []).map((_, i) => shown.map(({ cells }) => cells[i] ?? ''))
  return table(
    color,
    shown.map(({ heading }) => heading),
    rows,
  )
}

/** How long ago, or how long from now, seen from `at`. */
export function relative(date: Date | null, at: Date): string {
  if (date === null) return 'never'
  const ms = date.getTime() - at.getTime()
  return ms > 0 ? `in ${readable(ms)}` : `${readable(-ms)} ago`
}
