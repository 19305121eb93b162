// Rows of regrow's own tables that hold what regrow never writes. A statement over many rows fails for all of them because of one:
// such a row is put right where its meaning is clear, and told (L10).
import type { DamagedRow, RepairOptions } from '../../../../store/repair.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { bounds, type Rule, type Table, tables } from './rules.ts'

/** Rows of one table that are told, and put right, at a time. */
const rowsMost = 1_000
/** Large tables are read whole. */
const timeoutMs = 20_000

export const sqlRepair =
  (db: SqlDatabase, schema: () => number) =>
  async ({ whole, mend }: RepairOptions): Promise<readonly DamagedRow[]> => {
    const found: DamagedRow[] = []
    for (const table of tables) {
      if (!whole && table.often === 'false') continue
      if (table.name === 'schedules' && schema() < 6) continue
      const text = (mend ? repairText : lookText)(table, schema(), whole)
      const asked = whole ? db.queryWithin(timeoutMs, text) : db.query(text)
      // A table that is gone, in the middle of a restore for one: whoever needs it tells.
      const { rows } = await asked.catch((error: unknown) => {
        if (sqlState(error) === '42P01') return { rows: [] }
        throw error
      })
      for (const row of rows) found.push({ table: table.name, row: row.shown as string })
    }
    return found
  }

const rulesOf = ({ rules }: Table, schema: number) => rules.filter(({ since = 0 }) => schema >= since)

/** True where a column holds what regrow never writes; null is never that. */
const isDamaged = ({ fine }: Rule) => `(${fine}) is false`

function condition(table: Table, schema: number, whole: boolean): string {
  const damaged = rulesOf(table, schema).map(isDamaged).join(' or ')
  return whole || table.often === undefined ? damaged : `${table.often} and (${damaged})`
}

const lookText = (table: Table, schema: number, whole: boolean) =>
  `select ${table.shown} as shown from regrow.${table.name} t cross join (${bounds}) env where ${condition(table, schema, whole)} limit ${rowsMost}`

/** Rows that are locked are left for the next time, so their order is free (M30). */
function repairText(table: Table, schema: number, whole: boolean): string {
  const rules = rulesOf(table, schema)
  const deadly = rules.filter(({ put }) => put === null).map(isDamaged)
  const sets = rules.flatMap((rule) =>
    rule.put === null
      ? []
      : [`${rule.column} = case when ${isDamaged(rule)} then ${rule.put} else t.${rule.column} end`],
  )
  const key = table.key.map((column) => `t.${column}`).join(', ')
  const same = table.key.map((column) => `t.${column} = damaged.${column}`).join(' and ')
  const gone =
    deadly.length > 0
      ? `, gone as (
  delete from regrow.${table.name} t using damaged, env where ${same} and (${deadly.join(' or ')}) returning ${table.shown} as shown
)`
      : ''
  const put =
    sets.length > 0
      ? `, put as (
  update regrow.${table.name} t set ${sets.join(',\n    ')}
  from damaged, env where ${same} and (${deadly.join(' or ') || 'false'}) is not true returning ${table.shown} as shown
)`
      : ''
  const answers = [gone && 'select shown from gone', put && 'select shown from put'].filter(Boolean)
  return `with env as materialized (${bounds}),
damaged as materialized (
  select ${key} from regrow.${table.name} t cross join env where ${condition(table, schema, whole)} limit ${rowsMost} for update of t skip locked
)${gone}${put}
${answers.join(' union all ')}`
}
