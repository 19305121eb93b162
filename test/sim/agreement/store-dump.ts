// Every row of every table of both sides, in one form: names in camelCase, times in epoch ms, heals by their order instead of
// their numbers (sequences leave gaps where they like). Left out: the detail of audit rows (its times are written as text,
// with the zone of the session).
import type { SqlExecutor } from '../../../src/drivers/sql/client.ts'
import type { SimDatabase } from '../store/database.ts'

type Columns = Record<string, unknown>
type Dump = Record<string, unknown[]>

const storeTables = [
  ...(['ledger', 'workers', 'sweeps', 'marks', 'heals', 'pauses', 'intents', 'audit', 'pulse'] as const),
  ...(['schedules', 'slots'] as const),
] as const
const appTables = ['big', 'pair', 'text'] as const

/** The rows of the model. */
export function dumpModel(db: SimDatabase): Dump {
  const rows = (table: (typeof storeTables)[number]): Columns[] => [...db[table].values()]
  const own = storeTables.map((table) => [table, rows(table)] as const)
  const app = appTables.map((table) => [table, Array.from(db.rows(table), ([id, row]) => ({ id, ...row }))] as const)
  return formed(Object.fromEntries([...own, ...app]))
}

/** The rows of a database, read in one statement. */
export async function dumpSql(query: SqlExecutor['query']): Promise<Dump> {
  const own = storeTables.map((table) => `'${table}', (select coalesce(json_agg(t), '[]') from regrow.${table} t)`)
  const app = [
    `'big', (select coalesce(json_agg(jsonb_build_object('id', id::text) || "row"), '[]') from agreement.big)`,
    `'pair', (select coalesce(json_agg(jsonb_build_object('id', '[' || to_json(a) || ',' || to_json(b::text) || ']') || "row"), '[]') from agreement.pair)`,
    `'text', (select coalesce(json_agg(jsonb_build_object('id', id) || "row"), '[]') from agreement.text)`,
  ]
  const { rows } = await query(`select json_build_object(${[...own, ...app].join(', ')})::text as dump`)
  const dump = JSON.parse(rows[0]?.dump as string) as Record<string, Columns[]>
  for (const table of storeTables) dump[table] = (dump[table] ?? []).map(camelCased)
  return formed(dump)
}

const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

const isTime = (name: string) => /(^at|At|Until|^until|^since|^slot|Slot|^through)$/.test(name)

function camelCased(row: Columns): Columns {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const name = camelCase(column)
      return [name, isTime(name) && typeof value === 'string' ? epochMs(value) : value]
    }),
  )
}

function epochMs(text: string): number {
  if (text === '-infinity') return Number.NEGATIVE_INFINITY
  // Dates hold milliseconds: what is finer is added.
  const [, finer = ''] = /\.\d{3}(\d+)/.exec(text) ?? []
  return Math.round(Date.parse(text) * 1_000 + Number(finer.padEnd(3, '0'))) / 1_000
}

function formed(dump: Record<string, readonly Columns[]>): Dump {
  const healIds = (dump.heals ?? []).map(({ id }) => Number(id)).sort((a, b) => a - b)
  const heal = (id: unknown) => (id === null || id === undefined ? null : healIds.indexOf(Number(id)))
  const forms: Record<string, (row: Columns) => Columns> = {
    sweeps: (row) => ({ ...row, heal: heal(row.heal) }),
    heals: (row) => ({ ...row, id: heal(row.id) }),
    audit: ({ id: _, detail: __, ...row }) => row,
    pulse: ({ one: _, ...row }) => row,
    intents: withInput,
    schedules: withInput,
  }
  return Object.fromEntries(
    Object.entries(dump).map(([table, rows]) => [table, rows.map((row) => sorted((forms[table] ?? same)(row))).sort()]),
  )
}

const withInput = (row: Columns) => ({
  ...row,
  input: typeof row.input === 'string' ? JSON.parse(row.input) : row.input,
})

const same = (row: Columns) => row

/** One line per row, its columns by name. */
function sorted(row: Columns): string {
  return JSON.stringify(
    Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)),
    (_, value) =>
      value === Number.NEGATIVE_INFINITY
        ? '-infinity'
        : value instanceof Object && !Array.isArray(value)
          ? Object.entries(value).sort()
          : value,
  )
}
