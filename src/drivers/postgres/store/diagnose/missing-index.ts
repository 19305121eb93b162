// Which index would spare a pending query its reading. In: a scan that read far more than it brought, the table, and the key
// columns. Out: the statement that makes the index, and what a page would read then. Pure but for one question to the planner.
import type { IndexAdvice, TableName } from '../../../../store/diagnosis.ts'
import { conjuncts, joinedColumns, judge, mentioned, sameCondition, withoutCasts } from './condition.ts'
import type { IndexFacts, TableFacts } from './plan.ts'
import type { Scan } from './scan.ts'

/** What was read, and what for. */
export interface Waste {
  readonly scan: Scan
  readonly table: TableFacts
  /** Key columns of the query that are this table's, in key order. */
  readonly keys: readonly string[]
  /** Rows that the statement returned; at a guess where it was not measured. */
  readonly returned: number
  /** Rows it may return at most. */
  readonly limit: number
}

interface Parts {
  readonly leading: readonly string[]
  readonly fixed: readonly string[]
  readonly moving: readonly { readonly column: string; readonly text: string }[]
  readonly leftOut: readonly string[]
}

/** A page may read ten times as many rows as it brings: below that an index would spare little. */
export const timesTooMany = 10

/** `rowsWhere`: how many rows of the table have a condition, as the planner guesses. */
export async function missingIndex(
  waste: Waste,
  rowsWhere: (table: TableName, condition: string | null) => Promise<number>,
): Promise<IndexAdvice> {
  const { table, scan } = waste
  const parts = partsOf(waste)
  const where = parts.fixed.length > 0 ? parts.fixed.map(inside(parts.fixed)).join(' and ') : null
  const matching = parts.leading.length > 0 ? await rowsWhere(table.root, where).catch(() => scan.rows) : 0
  const { columns, rows } = chosen(waste, parts, Math.min(matching, Math.max(scan.rows, waste.returned)))
  const leftOut = [
    ...parts.leftOut,
    ...parts.moving.filter(({ column }) => !columns.includes(column)).map(({ text }) => text),
  ]
  const existing =
    table.indexes.find((index) => startsWith(index, columns) && sameCondition(index.where, where)) ?? null
  const useful = table.indexable && columns.length > 0 && !existing?.valid && (rows === null || rows * 2 <= scan.rows)
  const made = existing ? rebuild(table, existing) : statement(table, columns, where)
  return {
    table: table.root,
    statement: useful ? made : null,
    after: useful && rows !== null ? { rows, blocks: blocksOf(rows, scan) } : null,
    leftOut,
    existing,
    planners: existing?.valid === true && where === null && leftOut.length === 0,
  }
}

/** Each row may lie in another block, though not in more than are read now; a block of the index holds a hundred entries at least. */
const blocksOf = (rows: number, { blocks }: Scan) =>
  Math.min(rows, blocks ?? Number.POSITIVE_INFINITY) + Math.ceil(rows / 100) + 6

/** The conditions of the scan, sorted by what they are to an index. */
function partsOf({ scan, table, keys }: Waste): Parts {
  const all = scan.conditions
    .flatMap(conjuncts)
    .filter((each) => !isPlace(each, scan.alias, keys))
    .map((each) => judge(each, scan.alias, table.columns))
  const lookups = all.flatMap((each) => (each.kind === 'lookup' ? [each.column] : []))
  const joined = scan.joins.flatMap((text) => joinedColumns(text, scan.alias))
  const texts = (kind: 'fixed' | 'other') => [
    ...new Set(all.flatMap((each) => (each.kind === kind ? [each.text] : []))),
  ]
  return {
    leading: keys.length > 0 ? keys : [...new Set([...lookups, ...joined])],
    fixed: texts('fixed'),
    moving: all.filter((each) => each.kind === 'moving'),
    leftOut: texts('other'),
  }
}

/** What is only about the key: the place in the rows, or the keys that are asked for. */
function isPlace(condition: string, alias: string, keys: readonly string[]): boolean {
  const { own, foreign } = mentioned(condition, alias)
  const place = / IS NOT NULL$| > | = ANY \(| = /.test(condition) && !/%|\+|\*|\//.test(condition)
  return own.length > 0 && !foreign && place && own.every((column) => keys.includes(column))
}

/** An index of which columns, and the rows that are read by it. `matching`: rows that have all fixed conditions. */
function chosen(
  { keys, returned, limit }: Waste,
  { leading, fixed, moving, leftOut }: Parts,
  matching: number,
): { columns: readonly string[]; rows: number | null } {
  // By the key of another table's row: as many as that has, and nobody has counted them.
  if (keys.length === 0) return { columns: leading, rows: null }
  const wanted = Math.max(returned, 1)
  const filtered = Math.min(matching, Math.ceil((Math.min(limit, matching) * matching) / wanted))
  if (moving.length === 0) return { columns: leading, rows: leftOut.length === 0 ? returned : filtered }
  const columns = [...new Set(moving.map(({ column }) => column))]
  // Few rows have the other conditions: the time is compared row by row.
  if (fixed.length > 0 && matching <= timesTooMany * Math.max(returned, 1_000))
    return { columns: leading, rows: filtered }
  // Few are due: they are found by their time, and sorted. With more than some pages of them each page would sort them all.
  if (returned < limit) return { columns: columns.slice(0, 1), rows: returned }
  return { columns: [...leading, ...columns], rows: returned }
}

const startsWith = ({ columns }: IndexFacts, wanted: readonly string[]) =>
  wanted.length > 0 && wanted.every((column, i) => bare(columns[i] ?? '') === column)

const bare = (text: string) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text)

/** An OR among others keeps its parentheses. */
const inside = (all: readonly string[]) => (text: string) => (all.length > 1 && / OR /.test(text) ? `(${text})` : text)

const rebuild = ({ schema }: TableName, { name }: IndexFacts) =>
  `reindex index concurrently ${identifier(schema)}.${identifier(name)};`

/** Named by what it is, so that two jobs that need the same one are told the same. */
function statement(
  { root, partitioned, indexes }: TableFacts,
  columns: readonly string[],
  where: string | null,
): string {
  const wish = [root.name, ...columns, ...(where === null ? [] : ['where', withoutCasts(where)])]
    .join('_')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, 58)
    .replace(/_$/, '')
  const taken = new Set(indexes.map(({ name }) => name))
  const names = [wish, ...Array.from({ length: 9 }, (_, i) => `${wish}_${i + 2}`)]
  const name = names.find((each) => !taken.has(each)) ?? wish
  const on = `${identifier(root.schema)}.${identifier(root.name)} (${columns.map(identifier).join(', ')})`
  // Of a table with partitions it cannot be made concurrently.
  const create = partitioned ? 'create index' : 'create index concurrently'
  return `${create} ${identifier(name)} on ${on}${where === null ? '' : ` where ${where}`};`
}

/** Quoted where it has to be; a word of SQL is quoted, too. */
const identifier = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`

const reserved = new Set(
  'all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_date current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing true union unique user using variadic when where window with'.split(
    ' ',
  ),
)
