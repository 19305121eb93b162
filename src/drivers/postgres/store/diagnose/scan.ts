// What a plan reads of the user's tables: one entry per scan, with the rows it read, those it kept, and the conditions it read
// them by. Pure; the plan is as the server told it.
import type { TableName } from '../../../../store/diagnosis.ts'
import type { Explained, PlanNode, TableFacts } from './plan.ts'

/** One scan of a table. */
export interface Scan extends TableName {
  readonly alias: string
  /** It reads all of the table. */
  readonly whole: boolean
  /** Rows read; where nothing was measured what the planner and the size of the table say. */
  readonly rows: number
  /** Blocks of 8 KiB touched; null: not measured. */
  readonly blocks: number | null
  /** Conditions on its rows, as printed. */
  readonly conditions: readonly string[]
  /** Conditions of the joins that it is a part of. */
  readonly joins: readonly string[]
}

/** Every scan of a table that is not one of regrow's own. */
export function scansOf({ plan, ms }: Explained, tables: readonly TableFacts[]): Scan[] {
  const visit = (node: PlanNode, above: readonly string[]): Scan[] => {
    const joins = [...above, ...texts(node['Hash Cond'], node['Merge Cond'], node['Join Filter'])]
    return [...scanOf(node, joins, ms !== null, tables), ...(node.Plans ?? []).flatMap((child) => visit(child, joins))]
  }
  return visit(plan, [])
}

function scanOf(node: PlanNode, joins: readonly string[], measured: boolean, tables: readonly TableFacts[]): Scan[] {
  const { Schema: schema, 'Relation Name': name, Alias: alias = '' } = node
  if (schema === undefined || name === undefined || schema === 'regrow') return []
  const whole = node['Node Type'] === 'Seq Scan'
  const loops = node['Actual Loops'] ?? 1
  const read =
    (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const size = tables.find((table) => table.schema === schema && table.name === name)?.rows ?? 0
  return [
    {
      schema,
      name,
      alias,
      whole,
      rows: Math.round(measured ? read * loops : whole ? Math.max(size, node['Plan Rows']) : node['Plan Rows']),
      blocks: measured ? (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0) : null,
      conditions: texts(node.Filter, node['Index Cond'], node['Recheck Cond']),
      joins,
    },
  ]
}

const texts = (...given: (string | undefined)[]) => given.filter((text) => text !== undefined)

/** Tables that a plan reads, each once; regrow's own left out. */
export function tablesOf({ plan }: Explained): TableName[] {
  const all = (node: PlanNode): TableName[] => [
    ...(node.Schema !== undefined && node['Relation Name'] !== undefined && node.Schema !== 'regrow'
      ? [{ schema: node.Schema, name: node['Relation Name'] }]
      : []),
    ...(node.Plans ?? []).flatMap(all),
  ]
  const seen = new Map(all(plan).map((table) => [`${table.schema}.${table.name}`, table]))
  return [...seen.values()]
}

/** A column of a table. */
export interface Origin extends TableName {
  readonly column: string
}

/** Which columns of which tables the first columns of a plan are; what is computed is left out. Parts of a UNION count each. */
export function originsOf(node: PlanNode): Origin[] {
  if (node['Node Type'].endsWith('Append')) return (node.Plans ?? []).flatMap(originsOf)
  const scans = new Map<string, TableName>()
  const collect = (each: PlanNode): void => {
    if (each.Alias !== undefined && each.Schema !== undefined && each['Relation Name'] !== undefined)
      scans.set(each.Alias, { schema: each.Schema, name: each['Relation Name'] })
    each.Plans?.forEach(collect)
  }
  collect(node)
  const found = (node.Output ?? []).flatMap((output) => {
    const [, alias = '', column = ''] =
      /^\(*("(?:[^"]|"")+"|[^".()]+)\.("(?:[^"]|"")+"|[^".()]+)\)*$/.exec(output) ?? []
    const table = scans.get(bare(alias))
    return table ? [{ ...table, column: bare(column) }] : []
  })
  // What groups, sorts or makes rows unique names its input; a subquery has a name of its own, and its input says the rest.
  if (found.length > 0 || node.Plans?.length !== 1) return found
  return originsOf(node.Plans[0] as PlanNode)
}

const bare = (identifier: string) =>
  identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier
