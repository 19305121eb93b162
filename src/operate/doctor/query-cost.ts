// What a job's pending query costs the database: its page, the page after, and its check, each executed once under a time limit
// and explained by the server. Out: the figures, and the scans that read far more than they brought, with the index that would
// spare it. Reads only; what is sent is what sweep and worker send.
import type { Job } from '../../job/job.ts'
import type { SqlQuery } from '../../job/pending.ts'
import type { Classify } from '../../store/errors.ts'
import type { Examiner, Explained, TableFacts } from '../../store/examiner.ts'
import type { Source } from '../../store/source.ts'
import { type IndexAdvice, missingIndex, timesTooMany, type Waste } from './missing-index.ts'
import { type Origin, originsOf, type Scan, scansOf, tablesOf } from './scan.ts'

/** What one statement of a job costs. */
export interface StatementCost {
  /** Rows that it returned, or would at a guess. */
  readonly rows: number
  /** Rows of your tables that it read for them. */
  readonly rowsRead: number
  /** Blocks of 8 KiB that it touched; null: not measured. */
  readonly blocks: number | null
  /** How long it took; null: the planner's figures, since it would have taken too long. */
  readonly ms: number | null
}

/** An index that would spare reading. */
export interface IndexWish {
  readonly statement: string
  readonly table: string
  /** Rows and blocks that the scan reads of that table now; blocks null: not measured. */
  readonly now: { readonly rows: number; readonly blocks: number | null }
  /** And with the index, at most so many blocks; null: nobody can tell. */
  readonly after: { readonly rows: number; readonly blocks: number } | null
}

/** What the doctor measured of one job. */
export interface JobCosts {
  readonly job: string
  /** The first page of a pass; null: the rows are not read by a query of yours. */
  readonly page: StatementCost | null
  /** The one after; null: there is none. */
  readonly nextPage: StatementCost | null
  /** The one that ends a pass, and finds nothing any more; null: that is the first one. */
  readonly lastPage: StatementCost | null
  /** The check of up to a hundred keys. */
  readonly check: StatementCost | null
  readonly indexes: readonly IndexWish[]
}

/** Which statement of a job reads too much of a table. */
export interface TooMuch {
  readonly part: 'page' | 'next page' | 'last page' | 'check'
  readonly scan: Scan
  readonly cost: StatementCost
  /** It was given up after the time limit. */
  readonly gaveUp: boolean
  readonly advice: IndexAdvice
}

export interface Reads {
  readonly costs: JobCosts
  readonly tooMuch: readonly TooMuch[]
  /** Statements that were given up, and of which no scan could be blamed. */
  readonly slow: readonly TooMuch['part'][]
  readonly tables: readonly TableFacts[]
}

/** As the sweep reads them; a check is about a hundred keys. */
const sizes = { page: 10_000, check: 100 }
/** Half of what a sweep's page may take: what takes longer is too slow, whatever it reads. */
export const patienceMs = 5_000
/** The planner expects minutes: nobody has to wait for five seconds to learn that. */
const hopelessCost = 100_000_000
/** Reading this many rows takes a few milliseconds: no index is worth its upkeep for less. */
export const smallRows = 10_000
/** Of a table that is only joined: below this the planner may well read all of it and be right. */
export const manyRows = 100_000

interface Asked {
  readonly examiner: Examiner
  readonly classify: Classify
}

export async function readsOf({ examiner, classify }: Asked, source: Source, job: Job): Promise<Reads | null> {
  const { queries, serverPages } = source
  if (job.query === null || !queries || !serverPages) return null
  const whole = await examiner.explain(await queries.keys(), { analyze: false, timeoutMs: patienceMs })
  const tables = await examiner.tables(tablesOf(whole))
  const origins = originsOf(whole.plan)
  const horizonMs = job.sweepEveryMs
  const measure = async (part: TooMuch['part'], limit: number, query: SqlQuery): Promise<Measured> => ({
    part,
    limit,
    ...(await measured({ examiner, classify }, query)),
  })
  const page = await measure('page', sizes.page, await queries.page(null, sizes.page, horizonMs))
  const full = returned(page) >= sizes.page
  const lost: TooMuch['part'][] = []
  const after = async (part: TooMuch['part'], key: Promise<string | null>) => {
    const end = await orNull(key, classify)
    if (end !== null) return measure(part, sizes.page, await queries.page(end, sizes.page, horizonMs))
    // There is a page that long, so there is such a key: it was not found in time.
    lost.push(part)
    return null
  }
  const next = full ? await after('next page', serverPages.end(null, sizes.page, patienceMs)) : null
  const last = full ? await after('last page', serverPages.lastKey(patienceMs)) : null
  const keys = page.gaveUp ? null : await orNull(source.page(null, sizes.check, horizonMs, patienceMs), classify)
  const asked = keys?.rows.map(({ key }) => key) ?? []
  const check = await measure('check', sizes.check, await queries.check(asked.length > 0 ? asked : [anyKey(job)]))

  const all = [page, ...(next ? [next] : []), ...(last ? [last] : []), { ...check, keys: asked.length }]
  const tooMuch = await blamed(examiner, all, tables, origins)
  const costs: JobCosts = {
    job: job.name,
    page: costOf(page, tables),
    nextPage: next && costOf(next, tables),
    lastPage: last && costOf(last, tables),
    check: costOf({ ...check, keys: asked.length }, tables),
    indexes: wishes(tooMuch),
  }
  const slow = all.filter(({ gaveUp, part }) => gaveUp && !tooMuch.some((each) => each.part === part))
  return { costs, tooMuch, slow: [...slow.map(({ part }) => part), ...lost], tables }
}

interface Measured {
  readonly part: TooMuch['part']
  readonly limit: number
  readonly explained: Explained
  readonly gaveUp: boolean
  /** Keys that a check was asked for: it answers one row, whatever they are. */
  readonly keys?: number
}

/** Executed where that ends in time, else as the planner sees it. */
async function measured(
  { examiner, classify }: Asked,
  query: SqlQuery,
): Promise<{ explained: Explained; gaveUp: boolean }> {
  const planned = await examiner.explain(query, { analyze: false, timeoutMs: patienceMs })
  if (planned.plan['Total Cost'] > hopelessCost) return { explained: planned, gaveUp: true }
  try {
    return { explained: await examiner.explain(query, { analyze: true, timeoutMs: patienceMs }), gaveUp: false }
  } catch (error) {
    if (classify(error) !== 'timeout') throw error
    return { explained: planned, gaveUp: true }
  }
}

/** A page that takes too long has no end that could be asked for; that it does is told by its cost. */
const orNull = <T>(work: Promise<T>, classify: Classify): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (classify(error) === 'timeout') return null
    throw error
  })

function returned({ explained: { plan, ms }, limit, keys }: Measured): number {
  if (keys !== undefined) return keys
  return ms === null
    ? Math.min(limit, plan['Plan Rows'])
    : Math.round((plan['Actual Rows'] ?? 0) * (plan['Actual Loops'] ?? 1))
}

function costOf(statement: Measured, tables: readonly TableFacts[]): StatementCost {
  const { plan, ms } = statement.explained
  return {
    rows: returned(statement),
    rowsRead: scansOf(statement.explained, tables).reduce((sum, { rows }) => sum + rows, 0),
    blocks: ms === null ? null : (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    ms: ms === null ? null : Math.round(ms * 10) / 10,
  }
}

/** Scans that read at least ten times what their statement brought, and enough for that to matter. */
async function blamed(
  examiner: Examiner,
  statements: readonly Measured[],
  tables: readonly TableFacts[],
  origins: readonly Origin[],
): Promise<TooMuch[]> {
  const found: TooMuch[] = []
  for (const statement of statements) {
    const { part, limit, gaveUp, explained } = statement
    const rows = returned(statement)
    for (const scan of gathered(scansOf(explained, tables), tables)) {
      const table = tables.find(({ schema, name }) => schema === scan.schema && name === scan.name)
      // Of one that was given up any condition on a large table may be the reason.
      const read = gaveUp && table && scan.conditions.length > 0 ? Math.max(scan.rows, table.rows) : scan.rows
      const keys = origins.filter((each) => each.schema === scan.schema && each.name === scan.name)
      if (!table || read < (keys.length > 0 ? smallRows : manyRows) || read < timesTooMany * rows) continue
      // Without statistics the planner does not know how few rows are behind a cursor: that alone is told of it.
      if (!table.analyzed && part.endsWith(' page')) continue
      const columns = [...new Set(keys.map(({ column }) => column))]
      const waste: Waste = { scan: { ...scan, rows: read }, table, keys: columns, returned: rows, limit }
      const advice = await missingIndex(waste, (...args) => examiner.rowsWhere(...args))
      // Its key has an index, and no condition could be in one: below this the planner may well be right.
      if (advice.planners && read < manyRows) continue
      found.push({ part, scan: waste.scan, cost: costOf(statement, tables), gaveUp, advice })
    }
  }
  return found
}

/** The partitions of a table as one scan: an index is made on all of them. */
function gathered(scans: readonly Scan[], tables: readonly TableFacts[]): Scan[] {
  const byRoot = new Map<string, Scan>()
  for (const [i, scan] of scans.entries()) {
    const table = tables.find(({ schema, name }) => schema === scan.schema && name === scan.name)
    const part = table && (table.root.name !== table.name || table.root.schema !== table.schema)
    const id = part ? `${table.root.schema}.${table.root.name}` : String(i)
    const other = byRoot.get(id)
    byRoot.set(
      id,
      other
        ? {
            ...other,
            rows: other.rows + scan.rows,
            blocks: other.blocks === null || scan.blocks === null ? null : other.blocks + scan.blocks,
          }
        : scan,
    )
  }
  return [...byRoot.values()]
}

function wishes(tooMuch: readonly TooMuch[]): IndexWish[] {
  const byStatement = new Map<string, IndexWish>()
  for (const { scan, advice } of tooMuch) {
    const { statement, table, after } = advice
    if (statement === null || byStatement.has(statement)) continue
    const now = { rows: scan.rows, blocks: scan.blocks }
    byStatement.set(statement, { statement, table: `${table.schema}.${table.name}`, now, after })
  }
  return [...byStatement.values()]
}

/** A key that is probably nobody's: where nothing is pending, the plan is what matters. */
function anyKey(job: Job): string {
  const none = { text: '', int: '0', bigint: '0', uuid: '00000000-0000-0000-0000-000000000000' }
  return job.key.join(job.key.columns.map(({ type }) => none[type]))
}
