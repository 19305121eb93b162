// The kill switch in the model.
import type { Pauses } from '../../../src/store/pauses.ts'
import type { PauseRow as Pause } from '../../../src/store/status.ts'
import { byBytes } from './order.ts'
import type { PauseRow, Schema } from './schema.ts'
import type { Session } from './session.ts'
import { plus } from './time.ts'

/** A pause as a person is told of it. */
export const pauseOf = ({ job, reason, author, since, until, backlog }: PauseRow): Pause => ({
  job,
  reason,
  author,
  since: new Date(since),
  until: until === null ? null : new Date(until),
  backlog,
})

/** Writes what a person did. */
export function tell(
  schema: Schema,
  session: Session,
  row: { at: number; author: string; action: string; job: string; detail: object },
): void {
  const id = schema.nextNumber()
  session.set(schema.audit, String(id), { ...row, id, detail: JSON.stringify(row.detail) })
}

/** The pauses port. */
export function simPauses(schema: Schema): Pauses {
  const { engine, pauses, sweeps } = schema
  const ending = (job: string, author: string | null) =>
    engine.atOnce(author === null ? 'pauses.end' : 'pauses.resume', (session) => {
      const at = schema.now()
      const pause = pauses.rows.get(job)
      if (!pause || (author === null && (pause.until === null || pause.until > at))) return false
      session.set(pauses, job, undefined)
      const row = sweeps.rows.get(job)
      const free = { cursor: null, holder: null, until: null, lastHolder: null, passSeen: 0, passUnusable: 0 }
      if (row) session.set(sweeps, job, { ...row, ...free, nextAt: at, rampedAt: at })
      const action = author === null ? 'pause.over' : 'resume'
      tell(schema, session, { at, author: author ?? 'regrow', action, job, detail: { reason: pause.reason } })
      return true
    })
  return {
    pause: (job, reason, author, forMs) =>
      engine.atOnce('pauses.pause', (session) => {
        const at = schema.now()
        const until = forMs === null ? null : plus(at, forMs)
        const before = pauses.rows.get(job)
        // One that holds keeps its beginning; one that is over begins anew.
        const holds = before && (before.until === null || before.until > at) ? before : { since: at, backlog: null }
        const pause = { job, reason, author, since: holds.since, until, backlog: holds.backlog }
        session.set(pauses, job, pause)
        const row = sweeps.rows.get(job)
        const free = { cursor: null, holder: null, until: null, passSeen: 0, passUnusable: 0 }
        if (row) session.set(sweeps, job, { ...row, ...free, nextAt: at })
        tell(schema, session, { at, author, action: 'pause', job, detail: { reason, until } })
        return pauseOf(pause)
      }),
    resume: (job, author) => ending(job, author),
    end: (job) => ending(job, null),
    list: async () => {
      const at = schema.now()
      return [...pauses.rows.values()]
        .filter(({ job }) => schema.isPaused(job, at))
        .sort((a, b) => byBytes(a.job, b.job))
        .map(pauseOf)
    },
  }
}
