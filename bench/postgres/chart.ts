// The chart of the long transactions, as SVG by hand: four panels, three curves each, the pinned time in grey.
import { bloatFigures, bloatSides, type Course } from './bloat.ts'

const colours = { regrow: '#1b7f4d', 'pg-boss': '#c2410c', 'graphile-worker': '#3657c9' } as const
const panel = { width: 380, height: 190, left: 60, top: 44, right: 16, bottom: 34 }

type Figure = keyof typeof bloatFigures

/** bench/postgres-bloat.svg. */
export function chartOf(course: Course): string {
  const figures = Object.keys(bloatFigures) as Figure[]
  const [width, height] = [2 * panel.width, 2 * panel.height + 40]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    '<title>800 jobs per second under three overlapping long transactions</title>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...bloatSides.map((side, n) => legend(side, n)),
    ...figures.map((figure, n) => drawn(course, figure, panel.width * (n % 2), 40 + panel.height * Math.floor(n / 2))),
    '</svg>',
    '',
  ].join('\n')
}

function legend(side: (typeof bloatSides)[number], n: number): string {
  const x = panel.left + n * 130
  return `<path d="M${x} 22h22" stroke="${colours[side]}" stroke-width="2.5"/><text x="${x + 28}" y="26" fill="#222">${side}</text>`
}

/** One panel at (x, y): its frame, the pinned time, lines of the scale, and the curves. */
function drawn(course: Course, figure: Figure, x: number, y: number): string {
  const { samples, pinnedFromMs, pinnedUntilMs } = course.regrow
  const endMs = samples.at(-1)?.atMs ?? 1
  const inner = { width: panel.width - panel.left - panel.right, height: panel.height - panel.top - panel.bottom }
  const values = bloatSides.flatMap((side) => course[side].samples.map((each) => each[figure]))
  // Times of different sides are apart by factors.
  const { marks, share } = figure === 'pop' || figure === 'start' ? powers(values) : even(values)
  const across = (ms: number) => round(x + panel.left + (ms / endMs) * inner.width)
  const up = (value: number) => round(y + panel.top + inner.height * (1 - share(value)))
  const lines = marks.map(
    (value) =>
      `<path d="M${across(0)} ${up(value)}H${across(endMs)}" stroke="#d4d4d4"/><text x="${across(0) - 6}" y="${up(value) + 4}" text-anchor="end" fill="#555">${value.toLocaleString('en')}</text>`,
  )
  const seconds = [0, endMs / 2, endMs].map(
    (ms) =>
      `<text x="${across(ms)}" y="${y + panel.height - panel.bottom + 15}" text-anchor="middle" fill="#555">${round(ms / 1000)} s</text>`,
  )
  const curves = bloatSides.map((side) => {
    const points = course[side].samples
      .filter((each) => Number.isFinite(each[figure]))
      .map((each) => `${across(each.atMs)},${up(each[figure])}`)
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colours[side]}" stroke-width="2"/>`
  })
  return [
    `<rect x="${across(pinnedFromMs)}" y="${y + panel.top}" width="${round(across(pinnedUntilMs) - across(pinnedFromMs))}" height="${inner.height}" fill="#efefef"/>`,
    `<text x="${x + panel.left}" y="${y + panel.top - 12}" fill="#222" font-weight="600">${bloatFigures[figure]}</text>`,
    ...lines,
    ...seconds,
    ...curves,
  ].join('\n')
}

const round = (value: number) => Math.round(value * 10) / 10

/** A scale: the values that have a line, and how far up a value stands, from 0 to 1. */
interface Scale {
  readonly marks: readonly number[]
  readonly share: (value: number) => number
}

/** From nothing to the next round number. */
function even(values: readonly number[]): Scale {
  const top = roundUp(Math.max(...values.filter(Number.isFinite)))
  return { marks: [0, top / 2, top], share: (value) => value / top }
}

/** From one power of ten to another. */
export function powers(values: readonly number[]): Scale {
  const found = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10)
  const low = Math.floor(Math.min(...found, 0))
  const high = Math.max(Math.ceil(Math.max(...found, 0)), low + 1)
  const marks = Array.from({ length: high - low + 1 }, (_, n) => Number((10 ** (low + n)).toPrecision(1)))
  return { marks, share: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) }
}

/** The next of 1, 2, 5, 10, 20, 50 …: the top of a scale. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return (([1, 2, 5].find((step) => step * power >= value) ?? 10) as number) * power
}
