// Asks Postgres what the pending query returns, once per job and process, and refuses what would give wrong answers.

import { messageOf, type RegrowError } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import type { ScalarKey } from '../../../../job/key.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { SqlDatabase, SqlField } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'
import { oneStatement, refusal, shapeTimeoutMs } from './refusal.ts'
import { refuseWrongPlans } from './wrong-plans.ts'

/** Quoted key columns in key order, and which of the optional columns there are. */
export interface QueryShape {
  readonly keys: readonly string[]
  /** Type number of the version; null: there is no such column. */
  readonly version: number | null
  readonly runAt: boolean
  readonly input: boolean
  /** It says which intents have a unique key that they give up when they start. */
  readonly unique?: boolean
  /** It has the instant at which the work came to be; else `run_at` tells how long a row waits, if anything does. */
  readonly createdAt: boolean
}

/** Type numbers of Postgres that hold each type of key without a cast on the column. */
const fitting: Record<ScalarKey, readonly number[]> = {
  text: [25, 1043],
  int: [21, 23],
  bigint: [20, 21, 23],
  uuid: [2950],
}
const typeNames: Record<number, string> = {
  16: 'boolean',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  25: 'text',
  700: 'real',
  701: 'double precision',
  1042: 'character(n)',
  1043: 'varchar',
  1082: 'date',
  1114: 'timestamp',
  1184: 'timestamptz',
  1700: 'numeric',
  2950: 'uuid',
  3802: 'jsonb',
}
const typeName = (oid: number) => typeNames[oid] ?? `type number ${oid}`

export async function describeQuery(db: SqlDatabase, job: Job, query: SqlQuery): Promise<QueryShape> {
  oneStatement(job, query)
  const { fields } = await everyRow(db, job, { ...query, text: `select * from (\n${query.text}\n) q limit 0` })
  const shape = shapeOf(job, fields ?? assumed(job))
  await refuseWrongPlans(db, job, query, shape)
  return shape
}

/** What a client that tells nothing of columns is believed to return. */
function assumed(job: Job): SqlField[] {
  return job.key.columns.map(({ name }) => ({ name: name ?? 'id', dataTypeID: 0 }))
}

function shapeOf(job: Job, fields: readonly SqlField[]): QueryShape {
  const field = (name: string) => fields.find((candidate) => candidate.name === name)
  const others = fields.filter(({ name }) => !['version', 'run_at'].includes(name))
  const keys = job.key.columns.map(({ name, type }) => {
    const found = name === null ? others[0] : field(name)
    if (!found)
      throw refusal(
        job,
        `the pending query returns ${list(fields)}, and no key column ${name ? `"${name}"` : ''}`,
        name
          ? `Return a column named "${name}" as the job's \`key\` says.`
          : 'Return the id of each row as its first column.',
      )
    if (found.dataTypeID !== 0 && !fitting[type].includes(found.dataTypeID)) throw wrongType(job, found, type)
    return found
  })
  const surplus = others.filter((candidate) => !keys.includes(candidate))
  if (surplus.length > 0)
    throw refusal(
      job,
      `the pending query returns ${list(surplus)} besides its key`,
      'A hint is identity, never facts: return only the key, and where you need them `version` and `run_at`. The handler reads the row.',
    )
  const runAt = field('run_at')
  if (runAt && ![0, 1184].includes(runAt.dataTypeID))
    throw refusal(
      job,
      `\`run_at\` is ${typeName(runAt.dataTypeID)}, expected timestamptz`,
      runAtCure(typeName(runAt.dataTypeID)),
    )
  return {
    keys: keys.map(({ name }) => `"${name.replaceAll('"', '""')}"`),
    version: field('version')?.dataTypeID ?? null,
    runAt: !!runAt,
    input: false,
    createdAt: false,
  }
}

/** How a column of another type becomes an instant. */
function runAtCure(type: string): string {
  if (type.startsWith('timestamp'))
    return `A timestamp without a zone means another instant in each session: write run_at at time zone 'UTC'.`
  if (type === 'date') return `Say at which midnight a day begins: write run_at::timestamp at time zone 'UTC'.`
  if (/int|numeric|double|real|float|decimal/.test(type))
    return 'Of seconds since 1970 make an instant by to_timestamp(run_at), of milliseconds by to_timestamp(run_at / 1000.0).'
  return 'Return an instant: a column of type timestamptz, or cast it: run_at::timestamptz.'
}

function wrongType(job: Job, found: SqlField, declared: ScalarKey): RegrowError {
  const better = (Object.keys(fitting) as ScalarKey[]).find((type) => fitting[type].includes(found.dataTypeID))
  return refusal(
    job,
    `\`key\` is '${declared}', and the column "${found.name}" is ${typeName(found.dataTypeID)}`,
    better ? `Declare key: '${better}'.` : `Return a column of type text, integer, bigint or uuid.`,
  )
}

/**
 * Row security whose setting a worker does not have gives zero rows, and that looks healthy. The server is asked to fail
 * instead: a plan does not show it, since a table of which nothing may be seen is not even in it.
 */
async function everyRow(db: SqlDatabase, job: Job, { text, values }: SqlQuery) {
  try {
    return await db.queryWithin(shapeTimeoutMs, text, values, { everyRow: true })
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    // Who may not read the table at all fails here as well, with the server's own words.
    await db.queryWithin(shapeTimeoutMs, text, values)
    const [, table = 'a table'] = /"(.+)"/.exec(messageOf(error)) ?? []
    throw refusal(
      job,
      `row security of "${table}" holds for this user, so rows may be hidden without an error`,
      'Let regrow connect as the owner of the table or as a role with BYPASSRLS, or give { page, isPending }.',
    )
  }
}

const list = (fields: readonly SqlField[]) => fields.map(({ name }) => `"${name}"`).join(', ') || 'no column'
