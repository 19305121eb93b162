// Conditions of a pending query that do not look at the row, such as `exists (select 1 from switches where is_on)`: the server asks them
// once, and they hold for all rows or for none. In: the plan of a query that was run. Out: which of them fail, in words. Pure.
import { bare, conditionsOf, shown } from './plan-conditions.ts'

/** A node of such a plan, as far as it is read here. */
export interface FixedPlan {
  readonly 'Node Type': string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly Alias?: string
  readonly Output?: readonly string[]
  readonly 'One-Time Filter'?: string
  readonly 'Actual Loops'?: number
  readonly 'Actual Rows'?: number
  readonly 'Parent Relationship'?: string
  readonly 'Subplan Name'?: string
  readonly Filter?: string
  readonly 'Index Cond'?: string
  readonly 'Hash Cond'?: string
  readonly 'Merge Cond'?: string
  readonly 'Join Filter'?: string
  readonly Plans?: readonly FixedPlan[]
}

/** One condition of a one-time filter. */
export interface FixedCondition {
  /** As a person reads it. */
  readonly text: string
  /** `ask`: it names no subquery, so it can be evaluated by itself. `unknown`: only the server knows. */
  readonly holds: boolean | 'ask' | 'unknown'
  /** As the server writes it. */
  readonly condition: string
}

const textMax = 200
const conditionsIn = ['Filter', 'Index Cond', 'Hash Cond', 'Merge Cond', 'Join Filter'] as const

/** The conditions of a node's one-time filter; `failed`: the whole of them does, and the node's input was never read. */
export function fixedConditions(node: FixedPlan): {
  readonly conditions: readonly FixedCondition[]
  readonly failed: boolean
} {
  const subqueries = (node.Plans ?? []).filter(isSubquery)
  const inputs = (node.Plans ?? []).filter((plan) => !isSubquery(plan))
  const conditions = conditionsOf(node['One-Time Filter'] ?? '').map((each) => fixedCondition(each, subqueries))
  const failed =
    (node['Actual Loops'] ?? 0) > 0 && inputs.length > 0 && inputs.every((plan) => plan['Actual Loops'] === 0)
  return { conditions, failed }
}

const isSubquery = ({ 'Parent Relationship': relation }: FixedPlan) => relation === 'InitPlan' || relation === 'SubPlan'

/** `(InitPlan 1).col1`, and `$0` before Postgres 17. */
const reference = /\(InitPlan (\d+)\)\.col\d+|\$(\d+)/g

function fixedCondition(condition: string, subqueries: readonly FixedPlan[]): FixedCondition {
  const named: FixedPlan[] = []
  const text = condition.replace(reference, (whole, number?: string, parameter?: string) => {
    const found = subqueries.find(({ 'Subplan Name': name = '' }) =>
      number ? name === `InitPlan ${number}` : new RegExp(`\\(returns (.*, ?)?\\$${parameter}(,.*)?\\)$`).test(name),
    )
    if (found) named.push(found)
    return found ? subqueryText(found) : whole
  })
  const [only] = named
  if (only === undefined) return { text: shown(condition, ''), holds: 'ask', condition }
  const plain = bare(condition)
  const isWhole = (prefix: string) => plain.replace(reference, '') === prefix
  if (named.length === 1 && isExists(only) && (only['Actual Loops'] ?? 0) > 0) {
    const found = (only['Actual Rows'] ?? 0) > 0
    if (isWhole('')) return { text: bare(text), holds: found, condition }
    if (isWhole('NOT ')) return { text: bare(text), holds: !found, condition }
  }
  return { text: bare(text), holds: 'unknown', condition }
}

/** EXISTS asks for rows and for none of their columns. */
const isExists = ({ Output }: FixedPlan) => Output === undefined || Output.length === 0

function subqueryText(plan: FixedPlan): string {
  const nodes = everyNode(plan)
  const tables = nodes.flatMap(({ 'Relation Name': name }) => name ?? [])
  const conditions = nodes.flatMap((node) =>
    conditionsIn.flatMap((kind) => (node[kind] === undefined ? [] : [shown(node[kind], node.Alias ?? '')])),
  )
  const from = tables.length > 0 ? ` from ${[...new Set(tables)].join(', ')}` : ''
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const inside = `select …${from}${where}`
  const brief = inside.length > textMax ? `${inside.slice(0, textMax - 1)}…` : inside
  return `${isExists(plan) ? 'exists ' : ''}(${brief})`
}

const everyNode = (plan: FixedPlan): FixedPlan[] => [plan, ...(plan.Plans ?? []).flatMap(everyNode)]
