// Keys behind a place without the conditions of the pending query, which may fail for one of these rows. Postgres itself says, by its plan,
// which columns of which table the keys are; the keys are then read from there.
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'

interface Plan {
  readonly 'Node Type': string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly Plans?: readonly Plan[]
}

/** A table under the name that the query gives it, and the columns of it that are the key. */
interface KeyTable {
  readonly from: string
  readonly columns: readonly string[]
}

/** Each of these may have rows of several tables under the name of one. */
const mixed = ['Append', 'Merge Append', 'Recursive Union', 'SetOp']

/** `keysQuery`: of the keys alone. `types`: what each key column is cast to. Null: the plan does not show where the keys come from. */
export async function candidateKeys(
  db: SqlDatabase,
  job: Job,
  { keysQuery, types }: { readonly keysQuery: SqlQuery; readonly types: readonly string[] },
  { after, limit, timeoutMs }: { readonly after: string | null; readonly limit: number; readonly timeoutMs: number },
): Promise<string[] | null> {
  const explained = await db.queryWithin(
    timeoutMs,
    `explain (verbose, format json) ${keysQuery.text}`,
    keysQuery.values,
  )
  const table = keyTable(planOf(explained.rows[0]), types.length)
  if (!table) return null
  const { from, columns } = table
  const there = columns.map((column) => `${column} is not null`).join(' and ')
  const cursor = types.map((type, i) => `$${i + 2}::text::${type}`).join(', ')
  const behind = after === null ? '' : `and (${columns.join(', ')}) > (${cursor})`
  const listed = columns.map((column, i) => `${column} as k${i}`).join(', ')
  const order = columns.map((_, i) => `k${i}`).join(', ')
  const texts = columns.map((_, i) => `k${i}::text`).join(', ')
  const { rows } = await db.queryWithin(
    timeoutMs,
    `select json_build_array(${texts})::text as key from (
select distinct ${listed} from ${from} where ${there} ${behind} order by ${order} limit $1::int
) c order by ${order}`,
    [limit, ...(after === null ? [] : job.key.split(after))],
  )
  return rows.map(({ key }) => job.key.join(JSON.parse(key as string) as string[]))
}

function keyTable(top: Plan | undefined, count: number): KeyTable | undefined {
  if (!top) return undefined
  const nodes = all(top)
  const columns = (top.Output ?? []).slice(0, count)
  const aliases = new Set(columns.map(aliasOf))
  const [alias] = aliases
  if (alias === undefined || aliases.size > 1 || nodes.some((node) => mixed.includes(node['Node Type'])))
    return undefined
  const found = nodes.find((node) => node.Alias === alias && node.Schema && node['Relation Name'])
  return found && { from: `${quoted(found.Schema)}.${quoted(found['Relation Name'])} as ${quoted(alias)}`, columns }
}

const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)]

/** Of a column as Postgres writes it; undefined: it is an expression. */
function aliasOf(output: string): string | undefined {
  const name = `"(?:[^"]|"")+"|[^\\s"().,:]+`
  const [, alias] = new RegExp(`^(${name})\\.(?:${name})$`).exec(output) ?? []
  return alias?.startsWith('"') ? alias.slice(1, -1).replaceAll('""', '"') : alias
}

/** Clients hand a plan out as JSON, or as its text. */
function planOf(row: Row | undefined): Plan | undefined {
  const cell = row && Object.values(row)[0]
  return ((typeof cell === 'string' ? JSON.parse(cell) : cell) as [{ Plan: Plan }] | undefined)?.[0]?.Plan
}

const quoted = (name = '') => `"${name.replaceAll('"', '""')}"`
