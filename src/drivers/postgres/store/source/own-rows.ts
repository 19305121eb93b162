// The pending queries of regrow's own rows: stored inputs, and instants of schedules.
import type { Job } from '../../../../job/job.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { Statements } from '../statements-by-schema.ts'
import type { QueryShape } from './query-shape.ts'

/** The columns of both. */
export const ownShape: QueryShape = { keys: ['"id"'], version: null, runAt: true, input: true, createdAt: true }
const intentsOf = ({ name, uniqueUntil }: Job, texts: Statements): SqlQuery => ({
  text:
    uniqueUntil === 'start'
      ? texts.intents.pending
      : `select id, run_at, created_at, input::text as input from regrow.intents where job = $1::text`,
  values: [name],
})

/** A schedule that is paused or has ended starts nothing, whatever the queue says. */
const slotsOf = ({ name: lane }: Job): SqlQuery => ({
  text: `select t.key as id, t.due_at as run_at, t.due_at as created_at, null::text as input from regrow.slots t
    where t.lane = $1::text and t.state = 'waiting' and exists (
      select 1 from regrow.schedules s where s.name = t.schedule and s.paused_at is null and s.ended_at is null
    )`,
  values: [lane],
})

/** The pending query of a job that has none of the user's. */
export const ownQuery = (job: Job, texts: Statements): SqlQuery => (job.slots ? slotsOf(job) : intentsOf(job, texts))
