// The verbs of the store suite for a store in Postgres, whatever client its driver uses.
import type { Cell, Column, ColumnType, Condition, StoreDatabase, TestRow, TestTable } from './store-database.ts'

/** Runs one statement, on whatever client. */
type Query = (
  text: string,
  params?: readonly (string | number | boolean | null)[],
) => Promise<{ rows: Record<string, unknown>[] }>

/** The schema of the tables that the suite makes. */
const testing = 'regrow_testing'

/** `query` runs a statement in the database of the store, beside it. The database must be the suite's own. */
export function postgresDatabase(query: Query, { schema = 'regrow' } = {}): StoreDatabase {
  const now = async () => {
    const { rows } = await query(`select (extract(epoch from ${schema}.clock()) * 1000)::float8 as ms`)
    return Number(rows[0]?.ms)
  }
  /** Rows as JSON, their instants counted from the store's present. */
  const json = async (rows: readonly TestRow[]) => {
    const asked = rows.some((row) => Object.values(row).some((cell) => typeof cell === 'object' && cell !== null))
    const nowMs = asked ? await now() : 0
    const value = (cell: Cell): unknown => {
      if (typeof cell !== 'object' || cell === null) return cell
      if ('json' in cell) return cell.json
      if ('time' in cell) return cell.time === 'never' ? 'infinity' : '-infinity'
      return new Date(nowMs + cell.afterMs).toISOString()
    }
    const record = (row: TestRow) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, value(cell)]))
    return JSON.stringify(rows.map(record))
  }
  const table = (of: string, name: string): TestTable => {
    const full = `${of}.${name}`
    const same = (where: TestRow) => Object.keys(where).map((each) => `t.${each} is not distinct from w.${each}`)
    const matching = (where: TestRow) => (Object.keys(where).length === 0 ? 'true' : same(where).join(' and '))
    return {
      name,
      async insert(rows, own) {
        const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].join(', ')
        const text = `insert into ${full} (${names}) select ${names} from jsonb_populate_recordset(null::${full}, $1::text::jsonb)`
        const values = [await json(rows)]
        await (own ? (own as { query: Query }).query(text, values) : query(text, values))
      },
      async update(set, where = {}) {
        const sets = Object.keys(set).map((each) => `${each} = s.${each}`)
        const text = `update ${full} t set ${sets.join(', ')} from jsonb_populate_recordset(null::${full}, $1::text::jsonb) s,
          jsonb_populate_recordset(null::${full}, $2::text::jsonb) w where ${matching(where)}`
        await query(text, [await json([set]), await json([where])])
      },
      async remove(where = {}) {
        const text = `delete from ${full} t using jsonb_populate_recordset(null::${full}, $1::text::jsonb) w where ${matching(where)}`
        await query(text, [await json([where])])
      },
      async rows(where = {}) {
        const text = `select to_jsonb(t)::text as row from ${full} t, jsonb_populate_recordset(null::${full}, $1::text::jsonb) w
          where ${matching(where)}`
        const { rows } = await query(text, [await json([where])])
        return rows.map(({ row }) => JSON.parse(row as string) as Record<string, unknown>)
      },
    }
  }
  return {
    reset: () => reset(query, schema),
    dropStore: async () => void (await query(`drop schema ${schema} cascade`)),
    async pass(ms) {
      await query(`update ${testing}.clock set at = at + make_interval(secs => $1::float8 / 1000)`, [ms])
    },
    async create(name, columns, key) {
      const list = Object.entries(columns).map(([column, of]) => `${column} ${declared(of)}`)
      const primary = key ? [`primary key (${key.join(', ')})`] : []
      await query(`create table ${testing}.${name} (${[...list, ...primary].join(', ')})`)
      return table(testing, name)
    },
    table: (name) => table(testing, name),
    own: (name) => table(schema, name),
    pending({ table: name, columns, where = [], written }) {
      const values: unknown[] = []
      const conditions = where.map((each) => conditionText(each, values))
      const all = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
      const list = columns.join(', ')
      const plain = `select ${list} from ${testing}.${name}`
      const texts = {
        with_a_comment: `${plain}${all} -- where false`,
        over_an_expression: `with p as (${plain}${all}) select ${list} from p`,
        as_a_union: `${plain} where ${conditions[0]} union all ${plain} where not (${conditions[0]})`,
        as_distinct_rows: `select distinct ${list} from ${testing}.${name}${all} order by ${columns[0]} desc`,
      }
      return { text: written ? texts[written] : `${plain}${all}`, values }
    },
    shown,
  }
}

/** Nothing of the last case is left, and time stands still at the beginning of 2030. */
async function reset(query: Query, schema: string): Promise<void> {
  const { rows } = await query(
    `select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables
     where schemaname = $1::text and tablename not in ('meta', 'pulse')`,
    [schema],
  )
  await query(`truncate ${rows[0]?.tables as string}`)
  await query(`delete from ${schema}.pulse`)
  await query(`insert into ${schema}.pulse (one) values (true)`)
  await query(`drop schema if exists ${testing} cascade`)
  await query(`create schema ${testing}`)
  await query(`create table ${testing}.clock as select timestamptz '2030-01-01 00:00:00+00' as at`)
  await query(`create or replace function ${schema}.clock() returns timestamptz language sql volatile parallel safe
    as 'select at from ${testing}.clock'`)
}

const types: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  text_by_bytes: 'text collate "C"',
  varchar: 'varchar(2000)',
  smallint: 'smallint',
  int: 'int',
  bigint: 'bigint',
  uuid: 'uuid',
  boolean: 'boolean',
  time: 'timestamptz',
}

function declared(column: Column): string {
  if (typeof column === 'string') return types[column]
  const standard = column.default
  if (standard === undefined) return types[column.type]
  return `${types[column.type]} not null default ${typeof standard === 'string' ? `'${standard}'` : standard}`
}

/** As SQL; what is sent as a parameter is added to `values`. */
function conditionText(condition: Condition, values: unknown[]): string {
  if ('not' in condition) return `not ${conditionText(condition.not, values)}`
  if ('any' in condition)
    return `exists (select 1 from ${testing}.${condition.any} where ${conditionText(condition.where, values)})`
  if ('rowsOf' in condition) return `(select count(*) from ${testing}.${condition.rowsOf}) > ${condition.above}`
  if ('presentAfter' in condition) return `now() > '${condition.presentAfter}'`
  if ('dividesBy' in condition) return `1 / ${condition.dividesBy} > 0`
  if ('takesMs' in condition) return `pg_sleep(${condition.takesMs / 1_000})::text is not null`
  if ('above' in condition) return `${condition.column} > ${condition.above}`
  if ('below' in condition) return `${condition.column} < $${values.push(condition.below)}`
  if (typeof condition.is === 'boolean') return condition.is ? condition.column : `not ${condition.column}`
  return `${condition.column} = $${values.push(condition.is)}::text`
}

/** Values in the place of parameters, no schema, and of another table what matters. */
function shown(condition: Condition): string {
  if ('not' in condition) return `NOT ${shown(condition.not)}`
  if ('any' in condition) return `exists (select … from ${condition.any} where ${shown(condition.where)})`
  if ('rowsOf' in condition) return `(select … from ${condition.rowsOf}) > ${condition.above}`
  if ('is' in condition && typeof condition.is === 'string') return `${condition.column} = '${condition.is}'`
  return conditionText(condition, [])
}
