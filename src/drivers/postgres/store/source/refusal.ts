// How pending queries are refused, and the refusal that needs no database: a text of several statements.
import { RegrowError } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import { tokens } from '../diagnose/sql-tokens.ts'

/** It waits for locked tables like any other statement with the user's SQL, so it has their connections and an end. */
export const shapeTimeoutMs = 10_000

/** Without parameters a client may send a text as it is, and the server executes every statement of it: such a query is refused. */
export function oneStatement(job: Job, query: SqlQuery): SqlQuery {
  if (query.text.includes(';') && tokens(query.text).some(({ text }) => text === ';'))
    throw refusal(
      job,
      'the pending query holds more than one statement: it has a ";" outside strings and comments',
      'Write one SELECT, without ";".',
    )
  return query
}

export function refusal(job: Job, what: string, todo: string): RegrowError {
  return new RegrowError('bad_pending', `Job "${job.name}": ${what}`, todo)
}
