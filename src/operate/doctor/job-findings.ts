// What is wrong with a job's own pending query. In: what was measured, or why it was refused. Out: findings. Pure.
import { readable } from '../../base/duration.ts'
import { messageOf, RegrowError } from '../../base/errors.ts'
import { manyRows, patienceMs, type QueryCost, smallRows, type TooMuch } from '../../store/diagnosis.ts'
import type { Classify } from '../../store/errors.ts'
import type { DoctorFinding } from './finding.ts'
import { whys } from './finding-texts.ts'

/** What reads too much, and tables without statistics. */
export function ofReads({ costs: { job }, tooMuch, slow, tables }: QueryCost): DoctorFinding[] {
  const told = new Map<string, TooMuch[]>()
  for (const each of tooMuch) {
    const id = each.advice.statement ?? `${each.advice.table.schema}.${each.advice.table.name}`
    told.set(id, [...(told.get(id) ?? []), each])
  }
  // An index on another table of the query may spare this one, too.
  const indexed = tooMuch.some(({ advice }) => advice.statement !== null)
  return [
    ...[...told.values()].map((some) => ofScans(job, some, indexed)),
    ...slow.map(
      (part): DoctorFinding => ({
        level: 'bad',
        code: 'reads_much',
        job,
        message: `${job}: its ${wordsOf(part)} did not end within ${readable(patienceMs)}`,
        why: whys.reads_much,
        hint: 'No single table is to blame: look at the plan of the pending query, and at what else keeps the database busy.',
        fix: null,
      }),
    ),
    ...tables
      .filter(({ analyzed, rows }) => !analyzed && rows >= smallRows)
      .map(
        ({ schema, name }): DoctorFinding => ({
          level: 'warn',
          code: 'stats_missing',
          job,
          message: `${job}: the planner has no statistics of ${schema}.${name}`,
          why: whys.stats_missing,
          hint: 'Let it be analyzed, and see that autovacuum runs.',
          fix: `analyze "${schema.replaceAll('"', '""')}"."${name.replaceAll('"', '""')}";`,
        }),
      ),
  ]
}

const wordsOf = (part: TooMuch['part']) => part.replace('_', ' ')

/** One index, or one table, and the statements of the job that it is about. */
function ofScans(job: string, some: readonly TooMuch[], indexed: boolean): DoctorFinding {
  const worst = some.reduce((one, other) => (other.read.rows > one.read.rows ? other : one))
  const { advice, read, cost, gaveUp, part } = worst
  const table = `${advice.table.schema}.${advice.table.name}`
  const parts = [...new Set(some.map((each) => each.part))]
  const also =
    parts.length > 1
      ? `, and so does its ${parts
          .filter((each) => each !== part)
          .map(wordsOf)
          .join(' and ')}`
      : ''
  const blocks = read.blocks === null ? '' : `${count(read.blocks, 'block')}, `
  const measured = gaveUp
    ? `the planner says; it was given up after ${readable(patienceMs)}`
    : `${blocks}${cost.ms === null ? 'the planner says' : `${cost.ms} ms`}`
  const broken = advice.existing?.valid === false
  return {
    level: gaveUp || read.rows >= manyRows || broken ? 'bad' : 'warn',
    code: broken ? 'index_invalid' : advice.statement ? 'index_missing' : 'reads_much',
    job,
    message: broken
      ? `${job}: the index ${advice.existing?.name} of ${table} was never finished, and its ${wordsOf(part)} reads ${count(read.rows, 'row')} to find ${number(cost.rows)}`
      : `${job}: its ${wordsOf(part)} reads ${count(read.rows, 'row')} of ${table} to find ${number(cost.rows)} (${measured})${also}`,
    why: broken ? whys.index_invalid : advice.statement || indexed ? whys.index_missing : whys.reads_much,
    hint: advice.statement ? withIndex(advice) : indexed ? first : withoutIndex(advice),
    fix: advice.statement,
  }
}

const first = 'Another finding names an index for this query: make that first, and call the doctor again.'

function withIndex({ after, leftOut, statement }: TooMuch['advice']): string {
  const then = after
    ? `With this index it reads about ${count(after.rows, 'row')}, in ${count(after.blocks, 'block')} at most`
    : 'With this index it looks its rows up instead'
  return `${then}: ${statement}${leftOut.length > 0 ? ` Left out: ${leftOut.join('; ')}, since no index condition can hold it.` : ''}`
}

function withoutIndex({ existing, leftOut, planners }: TooMuch['advice']): string {
  if (planners)
    return 'The query has no condition on this table that an index could hold: it asks another table for every row. Keep what decides in the row itself, or begin with the smaller table.'
  if (existing && leftOut.length === 0)
    return `The index ${existing.name} is there, and the planner does not use it: analyze the table, and compare its condition with the query's.`
  const parts = leftOut.length > 0 ? ` Here they are: ${leftOut.join('; ')}.` : ''
  return `Write the conditions as comparisons of plain columns with fixed values, or give { page, isPending }.${parts}`
}

/** A query that is refused at the start, with the cure. */
export function ofRefusal(job: string, error: RegrowError): DoctorFinding {
  const { hint } = error
  const said = error.message.replace(`\n  → ${hint}`, '')
  const [level, message] = ['bad', said.replace(`Job "${job}": `, `${job}: `)] as const
  return { level, code: 'pending_refused', job, message, why: whys.pending_refused, hint, fix: null }
}

/** Message and hint of an error; the message of ours ends with the hint. */
export function sentences(error: unknown, classify: Classify): { message: string; hint: string } {
  if (error instanceof RegrowError)
    return { message: messageOf(error).replace(`\n  → ${error.hint}`, ''), hint: error.hint }
  const message = messageOf(error)
  if (classify(error) === 'timeout')
    return {
      message,
      hint: 'Somebody locks its table, or the server is busy: pg_stat_activity tells who waits for whom.',
    }
  return { message, hint: 'Mend that, and call the doctor again.' }
}

const number = (value: number) => value.toLocaleString('en')
const count = (value: number, what: string) => `${number(value)} ${what}${value === 1 ? '' : 's'}`
