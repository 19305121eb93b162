// Long transactions under continuous load, time scaled down and shape kept: 800 jobs/s, workers with room to spare, three
// overlapping transactions that each hold a snapshot, then a stretch without. Each side alone, one after the other.
import pg from 'pg'
import { type Row, rowOf, shown } from '../compare/figures.ts'
import { aligned, markdownOf } from '../compare/report.ts'
import type { RowText } from '../compare/row.ts'
import { type Ground, once } from '../compare/run.ts'
import type { Side } from '../compare/side.ts'
import type { Sample, Steady, Task } from '../compare/task.ts'

/** In the order in which they are drawn. */
export const bloatSides = ['regrow', 'pg-boss', 'graphile-worker'] as const satisfies readonly Side[]

/** What each side was like over time. */
export type Course = Readonly<Record<(typeof bloatSides)[number], Steady>>

export const bloatRow: RowText = {
  id: 'postgres.bloat.p99',
  title:
    'p99 of the statement that looks for work, in the last third of the pinned time: 800 jobs/s under three overlapping long transactions',
  unit: 'ms',
  better: 'lower',
  guard: 'claim',
  mark: { 'pg-boss': 1, 'graphile-worker': 1 },
  limit: 'postgresRoundTrip',
  jobs: 0,
}

/** `quick`: the same shape in a fifth of the time. Each transaction begins before the one before ends. */
export function bloatTask(quick: boolean): Task {
  const times = quick
    ? { calm: 2_000, held: 5_000, stagger: 2_000, after: 1_000, interval: 1_000 }
    : { calm: 10_000, held: 36_000, stagger: 12_000, after: 20_000, interval: 2_500 }
  return { measure: 'steady', jobs: 1, settings: { rate: 800, batching: true, pool: 10, batch: 100, ...times } }
}

/** Runs all sides. A vacuum looks round as much more often as the time is shorter, for all of them. */
export async function bloat(ground: Ground, admin: string, task: Task): Promise<Course> {
  const course: Partial<Record<Side, Steady>> = {}
  await setting(admin, `alter system set autovacuum_naptime = '4s'`)
  for (const side of bloatSides) {
    const found = await once<Steady>(ground, side, task)
    course[side] = found
    ground.say(
      `${bloatRow.id} ${side}: ${shown(found.p99)} ms, in the calm before ${shown(found.calmP99)} ms; until the start ${shown(found.startP99)} ms`,
    )
  }
  await setting(admin, 'alter system reset autovacuum_naptime')
  return course as Course
}

async function setting(admin: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  await client.query(text)
  await client.query('select pg_reload_conf()')
  await client.end()
}

/** Its row of the table. */
export function bloatRowOf(course: Course): Row {
  const peers = Object.fromEntries(bloatSides.slice(1).map((side) => [side, course[side].p99]))
  return rowOf(bloatRow, [{ regrow: course.regrow.p99, peers }])
}

/** What is sampled, and how it is called. */
export const bloatFigures: Readonly<Record<'pop' | 'start' | 'backlog' | 'dead', string>> = {
  pop: 'p99 of the pop, ms',
  start: 'p99 from enqueue to start, ms',
  backlog: 'jobs that wait',
  dead: 'dead rows',
}

/** Figures per interval: a column for each, in it the three sides. */
function cells(course: Course): string[][] {
  const keys = Object.keys(bloatFigures) as (keyof typeof bloatFigures)[]
  const { samples, pinnedFromMs, pinnedUntilMs } = course.regrow
  const body = samples.map(({ atMs }, n) => [
    shown(atMs / 1000),
    atMs > pinnedFromMs && atMs <= pinnedUntilMs ? 'pinned' : '',
    ...keys.map((key) => bloatSides.map((side) => figure((course[side].samples[n] as Sample)[key])).join(' / ')),
  ])
  return [['second', 'horizon', ...keys.map((key) => bloatFigures[key])], ...body]
}

const figure = (value: number) => (Number.isInteger(value) ? value.toLocaleString('en') : shown(value))

const order = `Each figure: ${bloatSides.join(' / ')}.`

export const bloatText = (course: Course): string[] => [...aligned(cells(course)), order, '']

/** Chart and table of the page. */
export const bloatPage = (course: Course, chart: string): string[] => [
  `![What long transactions do to each side, over time](${chart})`,
  '',
  `The grey stretch is the time in which at least one of the three transactions was open. ${order}`,
  '',
  ...markdownOf(cells(course)),
  '',
]
