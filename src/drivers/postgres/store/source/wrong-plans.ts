// Refuses pending queries by the plans that Postgres makes of them: those that would give wrong answers, or whose checks would each
// read a whole table.
import type { Job } from '../../../../job/job.ts'
import type { ScalarKey } from '../../../../job/key.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import type { QueryShape } from './query-shape.ts'
import { refusal, shapeTimeoutMs } from './refusal.ts'

interface Plan {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly Filter?: string
  readonly Strategy?: string
  readonly Plans?: readonly Plan[]
}

/** LIMIT hides rows from the check; a window, a WITH of its own, an aggregate or an expression as key makes each check read the whole table. */
export async function refuseWrongPlans(db: SqlDatabase, job: Job, query: SqlQuery, shape: QueryShape): Promise<void> {
  const columns = shape.keys.map((column) => `q.${column}`).join(', ')
  const planOf = async (selected: string, where = '') => {
    const text = `explain (verbose, format json) select ${selected} from (\n${query.text}\n) q ${where}`
    const answer = (await db.queryWithin(shapeTimeoutMs, text, query.values)).rows[0]?.['QUERY PLAN']
    return ((typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ Plan: Plan }] | undefined)?.[0]?.Plan
  }
  const plan = await planOf(columns)
  if (!plan) return
  // The planner leaves out what a column that nobody asks for would need.
  const whole = shape.version === null && !shape.runAt ? plan : ((await planOf('q.*')) ?? plan)
  refuseWrongRows(job, whole)
  refuseWrongKeys(job, plan)
  await refuseAggregatedKeys(job, shape, plan, (where) => planOf(columns, where))
}

/** A condition on a group is asked of the table only where the group has that column; without groups there is one row of all. */
async function refuseAggregatedKeys(
  job: Job,
  shape: QueryShape,
  plan: Plan,
  planWhere: (where: string) => Promise<Plan | undefined>,
): Promise<void> {
  const isGrouping = ({ 'Node Type': type }: Plan) => type === 'Aggregate' || type === 'Group'
  const groupings = passedThrough(plan).filter(isGrouping)
  if (groupings.length === 0) return
  const refused = () =>
    refusal(
      job,
      'the key is an aggregate, so asking for one key reads the whole table',
      'Return the plain key column, with the aggregate in a condition, or give { page, isPending }.',
    )
  if (groupings.some(({ Strategy }) => Strategy === 'Plain')) throw refused()
  for (const [i, column] of shape.keys.entries()) {
    const value = anyValue[job.key.columns[i]?.type ?? 'text']
    const asked = await planWhere(`where q.${column} = '${value}'`)
    if (asked && trunk(asked).some((node) => isGrouping(node) && node.Filter?.includes(value))) throw refused()
  }
}

/** A value of each type that is found again in a plan. */
const anyValue: Record<ScalarKey, string> = {
  text: 'any key of this job',
  int: '1830204617',
  bigint: '1830204617',
  uuid: '7d6c3f9e-1b52-4a80-9c47-e05f2ab81d36',
}

function refuseWrongRows(job: Job, plan: Plan): void {
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
}

function refuseWrongKeys(job: Job, plan: Plan): void {
  const outputs = plan.Output ?? []
  const expression = outputs.find((output) => !/^("(?:[^"]|"")+"|[\w$]+)(\.("(?:[^"]|"")+"|[\w$]+)){0,2}$/.test(output))
  if (expression)
    throw refusal(
      job,
      `the key is the expression ${expression}, so asking for one key reads the whole table`,
      'Return the plain key column and declare its type with `key`, or give { page, isPending }.',
    )
  const isKeys = ({ Alias }: Plan) => outputs.some((output) => output.replaceAll('"', '').startsWith(`${Alias}.`))
  if (trunk(plan).some((node) => node['Node Type'] === 'CTE Scan' && isKeys(node)))
    throw refusal(
      job,
      'the key comes from a WITH that is used twice or is MATERIALIZED, so asking for one key reads all of it',
      'Write it as a subquery, or give { page, isPending }.',
    )
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
