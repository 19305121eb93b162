// What a job's pending query costs the database: its page, the page after, and its check, each executed once under a time limit
// and explained by the server. Out: the figures, and the scans that read far more than they brought, with the index that would
// spare it. Reads only; what is sent is what sweep and worker send.
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import {
  type IndexSuggestion,
  type JobCosts,
  manyRows,
  patienceMs,
  type QueryCost,
  type StatementCost,
  smallRows,
  type TooMuch,
} from '../../../../store/diagnosis.ts'
import { classify } from '../errors.ts'
import type { QuerySource } from '../source/source.ts'
import { missingIndex, timesTooMany, type Waste } from './missing-index.ts'
import type { Explained, Planner, TableFacts } from './plan.ts'
import { type Origin, originsOf, type Scan, scansOf, tablesOf } from './scan.ts'

/** As the sweep reads them; a check is about a hundred keys. */
const sizes = { page: 10_000, check: 100 }
/** The planner expects minutes: nobody has to wait for five seconds to learn that. */
const hopelessCost = 100_000_000

export async function costOf(planner: Planner, source: QuerySource, job: Job): Promise<QueryCost> {
  const { pageQuery, checkQuery, keysQuery, serverPages } = source
  const whole = await planner.explain(await keysQuery(), { analyze: false, timeoutMs: patienceMs })
  const tables = await planner.tables(tablesOf(whole))
  const origins = originsOf(whole.plan)
  const horizonMs = job.sweepEveryMs
  const measure = async (part: TooMuch['part'], limit: number, query: SqlQuery): Promise<Measured> => ({
    part,
    limit,
    ...(await measured(planner, query)),
  })
  const page = await measure('page', sizes.page, await pageQuery(null, sizes.page, horizonMs))
  const full = returned(page) >= sizes.page
  const lost: TooMuch['part'][] = []
  const after = async (part: TooMuch['part'], key: Promise<string | null>) => {
    const end = await orNull(key)
    if (end !== null) return measure(part, sizes.page, await pageQuery(end, sizes.page, horizonMs))
    // There is a page that long, so there is such a key: it was not found in time.
    lost.push(part)
    return null
  }
  const next = full ? await after('next_page', serverPages.end(null, sizes.page, patienceMs)) : null
  const last = full ? await after('last_page', serverPages.lastKey(patienceMs)) : null
  const keys = page.gaveUp ? null : await orNull(source.page(null, sizes.check, horizonMs, patienceMs))
  const asked = keys?.rows.map(({ key }) => key) ?? []
  const check = await measure('check', sizes.check, await checkQuery(asked.length > 0 ? asked : [anyKey(job)]))

  const all = [page, ...(next ? [next] : []), ...(last ? [last] : []), { ...check, keys: asked.length }]
  const tooMuch = await blamed(planner, all, tables, origins)
  const costs: JobCosts = {
    job: job.name,
    page: statementCost(page, tables),
    nextPage: next && statementCost(next, tables),
    lastPage: last && statementCost(last, tables),
    check: statementCost({ ...check, keys: asked.length }, tables),
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
async function measured(planner: Planner, query: SqlQuery): Promise<{ explained: Explained; gaveUp: boolean }> {
  const planned = await planner.explain(query, { analyze: false, timeoutMs: patienceMs })
  if (planned.plan['Total Cost'] > hopelessCost) return { explained: planned, gaveUp: true }
  try {
    return { explained: await planner.explain(query, { analyze: true, timeoutMs: patienceMs }), gaveUp: false }
  } catch (error) {
    if (classify(error) !== 'timeout') throw error
    return { explained: planned, gaveUp: true }
  }
}

/** A page that takes too long has no end that could be asked for; that it does is told by its cost. */
const orNull = <T>(work: Promise<T>): Promise<T | null> =>
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

function statementCost(statement: Measured, tables: readonly TableFacts[]): StatementCost {
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
  planner: Planner,
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
      if (!table.analyzed && part.endsWith('_page')) continue
      const columns = [...new Set(keys.map(({ column }) => column))]
      const waste: Waste = { scan: { ...scan, rows: read }, table, keys: columns, returned: rows, limit }
      const advice = await missingIndex(waste, (...args) => planner.rowsWhere(...args))
      // Its key has an index, and no condition could be in one: below this the planner may well be right.
      if (advice.planners && read < manyRows) continue
      found.push({ part, read: waste.scan, cost: statementCost(statement, tables), gaveUp, advice })
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

function wishes(tooMuch: readonly TooMuch[]): IndexSuggestion[] {
  const byStatement = new Map<string, IndexSuggestion>()
  for (const { read, advice } of tooMuch) {
    const { statement, table, after } = advice
    if (statement === null || byStatement.has(statement)) continue
    const now = { rows: read.rows, blocks: read.blocks }
    byStatement.set(statement, { statement, table: `${table.schema}.${table.name}`, now, after })
  }
  return [...byStatement.values()]
}

/** A key that is probably nobody's: where nothing is pending, the plan is what matters. */
function anyKey(job: Job): string {
  const none = { text: '', int: '0', bigint: '0', uuid: '00000000-0000-0000-0000-000000000000' }
  return job.key.join(job.key.columns.map(({ type }) => none[type]))
}
