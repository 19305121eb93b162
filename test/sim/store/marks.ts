// The store's copies of the canaries, and the losses that were noticed by them, in the model.
import type { Loss, Marks } from '../../../src/store/canary.ts'
import type { Schema } from './schema.ts'
import type { Session } from './session.ts'
import { isAheadOf, plus, plusYears } from './time.ts'

/** The marks port. */
export function simMarks(schema: Schema): Marks {
  const { engine, marks } = schema
  return {
    look: (queue, everyMs) =>
      engine.atOnce(
        'marks.look',
        (session) => {
          const at = schema.now()
          const row = marks.rows.get(queue)
          if (!row) {
            session.set(marks, queue, { queue, epoch: 1, sequence: 0, epochAt: plus(at, -1_000), bumpedAt: at })
            return { mark: { epoch: 1, sequence: 0 }, first: true, bumps: false, setBack: false }
          }
          const bumps = row.bumpedAt <= plus(at, -everyMs)
          if (bumps) session.set(marks, queue, { ...row, bumpedAt: at })
          const setBack = isAheadOf(row.bumpedAt, at)
          return { mark: { epoch: row.epoch, sequence: row.sequence }, first: false, bumps, setBack }
        },
        { quick: true },
      ),
    raise: (queue, { epoch, sequence }) =>
      engine.atOnce(
        'marks.raise',
        (session) => {
          const row = marks.rows.get(queue)
          // S17: never lower, and of this epoch only.
          if (row && row.epoch === epoch && row.sequence < sequence) session.set(marks, queue, { ...row, sequence })
        },
        { quick: true },
      ),
    lose: (queue, loss, apartMs) =>
      engine.atOnce('marks.lose', (session) => {
        const at = schema.now()
        const row = marks.rows.get(queue)
        if (!row || row.epoch !== loss.known.epoch) return null
        if (row.epochAt > plus(at, -apartMs) && !isAheadOf(row.epochAt, at)) return null
        // The one found is avoided, and never adopted: anybody may have written it there.
        const epoch = row.epoch + (loss.found?.epoch === row.epoch + 1 ? 2 : 1)
        session.set(marks, queue, { queue, epoch, sequence: 0, epochAt: at, bumpedAt: at })
        healing(schema, session, queue, loss, epoch, at)
        return { epoch, sequence: 0 }
      }),
  }
}

/** Every sweep begins a new pass now, from the beginning (M42); what it brings back is counted with the loss. */
function healing(schema: Schema, session: Session, queue: string, loss: Loss, epoch: number, at: number): void {
  const { heals, sweeps, workers } = schema
  for (const [id, heal] of heals.rows)
    if (heal.at < plusYears(at, -1)) session.set(heals, id, undefined)
    else if (heal.queue === queue && heal.endedAt === null) session.set(heals, id, { ...heal, endedAt: at })
  const handled = new Set([...workers.rows.values()].flatMap(({ jobs }) => Object.keys(jobs)))
  const jobsLeft = [...sweeps.rows.keys()].filter((job) => handled.has(job)).length
  const id = schema.nextNumber()
  const counts = { jobsLeft, pushed: 0, endedAt: jobsLeft === 0 ? at : null }
  session.set(heals, String(id), { id, queue, epoch, at, how: loss.how, noticedBy: loss.by, ...counts })
  const free = { holder: null, until: null, lastHolder: null, cursor: null, passSeen: 0, passUnusable: 0 }
  for (const [job, row] of sweeps.rows)
    session.set(sweeps, job, { ...row, ...free, nextAt: at, rampedAt: at, heal: handled.has(job) ? id : null })
}
