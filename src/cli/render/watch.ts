// Health on one screen of a terminal: everything where it fits; else what is wrong, and as many jobs as there is room for,
// those that need a look first. No line is longer than the screen is wide, so nothing wraps and nothing scrolls.
import type { Health, JobHealth } from '../../operate/index.ts'
import { cut, type Output } from '../output.ts'
import { findingMessages, healthHead, healthText, jobsTable, workersTable } from './health.ts'

/** A terminal. */
export interface Screen {
  readonly columns: number
  readonly rows: number
}

/** What the columns that are always there take of a line. */
const otherColumns = 60
const nameMin = 16

/** At most `rows - 1` lines of at most `columns` characters: the cursor stands in the last one. */
export function watchText(health: Health, store: string, color: Output['color'], { columns, rows }: Screen): string {
  const room = Math.max(1, rows - 1)
  const time = health.at.toISOString()
  const short = { ...health, jobs: shortened(health.jobs, columns) }
  const whole = [time, ...healthText(short, store, color, columns).split('\n')]
  const lines = whole.length <= room ? whole : compact(health, store, color, { columns, rows: room }, time)
  return lines
    .slice(0, room)
    .map((line) => cut(line, columns))
    .join('\n')
}

function compact(health: Health, store: string, color: Output['color'], screen: Screen, time: string): string[] {
  const { jobs, findings, workers, at } = health
  const head = [time, healthHead(health, store)]
  const room = screen.rows - head.length
  const most = Math.max(2, Math.floor(room / 3))
  const wrong = some(findingMessages(findings, color), most, (more) => `… ${more} more: regrow status tells all`)
  const found = wrong.length > 0 ? [...wrong, ''] : []
  const ranked = worstFirst(health)
  // One line is the table's headings.
  const left = Math.max(1, room - found.length - 1)
  const shown = jobs.length <= left ? jobs : ranked.slice(0, left - 1)
  const rest = shown.length < jobs.length ? [`… ${jobs.length - shown.length} more jobs`] : []
  const table =
    shown.length > 0 ? jobsTable(shortened(shown, screen.columns), at, color, screen.columns).split('\n') : []
  const working = workers.length > 0 ? ['', ...workersTable(workers, at, color, screen.columns).split('\n')] : []
  const lines = [...head, ...found, ...table, ...rest]
  return lines.length + working.length <= screen.rows ? [...lines, ...working] : lines
}

/** `most` lines at most; where there are more, the last one says how many. */
function some(lines: readonly string[], most: number, more: (count: number) => string): string[] {
  return lines.length <= most ? [...lines] : [...lines.slice(0, most - 1), more(lines.length - most + 1)]
}

/** Jobs with something wrong, then those that do something, then the others; each by name. */
function worstFirst({ jobs, findings }: Health): JobHealth[] {
  const level = new Map([...findings].reverse().map(({ job, level: bad }) => [job, bad === 'bad' ? 3 : 2]))
  const rank = (each: JobHealth) =>
    level.get(each.job) ?? (each.running + each.retrying + (each.sweep?.pending?.count ?? 0) > 0 ? 1 : 0)
  return [...jobs].sort((a, b) => rank(b) - rank(a))
}

/** A long name loses its middle: names of a family begin alike, and differ at the end. */
function shortened(jobs: readonly JobHealth[], columns: number): JobHealth[] {
  const most = Math.max(nameMin, columns - otherColumns)
  const end = Math.ceil((most - 1) / 2)
  return jobs.map((each) => {
    const { job } = each
    return job.length <= most ? each : { ...each, job: `${job.slice(0, most - 1 - end)}…${job.slice(-end)}` }
  })
}
