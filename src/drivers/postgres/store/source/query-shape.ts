// Asks Postgres what the pending query returns, once per job and process, and refuses what would give wrong answers.

import { messageOf, RegrowError } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import type { ScalarKey } from '../../../../job/key.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { SqlDatabase, SqlField } from '../../../sql/client.ts'
import { sqlState } from '../errors.ts'

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

/** It waits for locked tables like any other statement with the user's SQL, so it has their connections and an end. */
const timeoutMs = 10_000

export async function describeQuery(db: SqlDatabase, job: Job, query: SqlQuery): Promise<QueryShape> {
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
      `A timestamp without a zone means another instant in each session: write run_at at time zone 'UTC'.`,
    )
  return {
    keys: keys.map(({ name }) => `"${name.replaceAll('"', '""')}"`),
    version: field('version')?.dataTypeID ?? null,
    runAt: !!runAt,
    input: false,
    createdAt: false,
  }
}

function wrongType(job: Job, found: SqlField, declared: ScalarKey): RegrowError {
  const better = (Object.keys(fitting) as ScalarKey[]).find((type) => fitting[type].includes(found.dataTypeID))
  return refusal(
    job,
    `\`key\` is '${declared}', and the column "${found.name}" is ${typeName(found.dataTypeID)}`,
    better ? `Declare key: '${better}'.` : `Return a column of type text, integer, bigint or uuid.`,
  )
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly Plans?: readonly Plan[]
}

/** LIMIT hides rows from the check; a window, a WITH of its own or an expression as key makes each check read the whole table. */
async function refuseWrongPlans(db: SqlDatabase, job: Job, query: SqlQuery, shape: QueryShape): Promise<void> {
  const keys = shape.keys.map((column) => `q.${column}`).join(', ')
  const { rows } = await db.queryWithin(
    timeoutMs,
    `explain (verbose, format json) select ${keys} from (\n${query.text}\n) q`,
    query.values,
  )
  const answer = rows[0]?.['QUERY PLAN']
  const plan = ((typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: Plan }] | undefined)?.[0]?.Plan
  if (!plan) return
  const nodes = trunk(plan)
  const has = (type: string) => nodes.some((node) => node['Node Type'] === type)
  if (passedThrough(plan).some((node) => node['Node Type'] === 'Limit'))
    throw refusal(
      job,
      'the pending query has a LIMIT (or OFFSET)',
      'A pending query names all the work there is; the sweep reads it in pages by itself. Remove the LIMIT.',
    )
  if (has('LockRows'))
    throw refusal(
      job,
      'the pending query locks rows (FOR UPDATE)',
      'It only asks what work there is. Lock rows in the handler, inside ctx.tx.',
    )
  if (has('WindowAgg'))
    throw refusal(
      job,
      'the pending query uses a window function, so asking for one key reads the whole table',
      'Write it without OVER (…), or give { page, isPending }.',
    )
  const outputs = plan.Output ?? []
  const expression = outputs.find((output) => !/^("(?:[^"]|"")+"|[\w$]+)(\.("(?:[^"]|"")+"|[\w$]+)){0,2}$/.test(output))
  if (expression)
    throw refusal(
      job,
      `the key is the expression ${expression}, so asking for one key reads the whole table`,
      'Return the plain key column and declare its type with `key`, or give { page, isPending }.',
    )
  const isKeys = ({ Alias }: Plan) => outputs.some((output) => output.replaceAll('"', '').startsWith(`${Alias}.`))
  if (nodes.some((node) => node['Node Type'] === 'CTE Scan' && isKeys(node)))
    throw refusal(
      job,
      'the key comes from a WITH that is used twice or is MATERIALIZED, so asking for one key reads all of it',
      'Write it as a subquery, or give { page, isPending }.',
    )
}

/**
 * Row security whose setting a worker does not have gives zero rows, and that looks healthy. The server is asked to fail
 * instead: a plan does not show it, since a table of which nothing may be seen is not even in it.
 */
async function everyRow(db: SqlDatabase, job: Job, { text, values }: SqlQuery) {
  try {
    return await db.queryWithin(timeoutMs, text, values, { everyRow: true })
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    // Who may not read the table at all fails here as well, with the server's own words.
    await db.queryWithin(timeoutMs, text, values)
    const [, table = 'a table'] = /"(.+)"/.exec(messageOf(error)) ?? []
    throw refusal(
      job,
      `row security of "${table}" holds for this user, so rows may be hidden without an error`,
      'Let regrow connect as the owner of the table or as a role with BYPASSRLS, or give { page, isPending }.',
    )
  }
}

/** The nodes that produce the query's own rows, subqueries of conditions left out. */
function trunk(plan: Plan): Plan[] {
  const below = (plan.Plans ?? []).filter(
    (child) => !['SubPlan', 'InitPlan'].includes(child['Parent Relationship'] ?? ''),
  )
  return [plan, ...below.flatMap(trunk)]
}

/** The nodes that the query's rows pass one by one, from the top to the first join or table. */
function passedThrough(plan: Plan): Plan[] {
  const below = trunk(plan).filter((node) => plan.Plans?.includes(node))
  const joins = below.length > 1 && !plan['Node Type'].endsWith('Append')
  return [plan, ...(joins ? [] : below.flatMap(passedThrough))]
}

const list = (fields: readonly SqlField[]) => fields.map(({ name }) => `"${name}"`).join(', ') || 'no column'

function refusal(job: Job, what: string, todo: string): RegrowError {
  return new RegrowError('bad_pending', `Job "${job.name}": ${what}`, todo)
}
