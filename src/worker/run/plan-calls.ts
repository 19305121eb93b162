// Which keys share a call of the handler. Decided purely. After a call of a batch that threw, the next attempt goes in
// halves, down to single keys: one bad key does not take its neighbours to quarantine (M36).
import { groupBy } from '../../base/group-by.ts'
import type { Handler } from '../../job/handler.ts'
import type { Ready } from '../stages.ts'

/** Calls for what may start, `room` at most; the keys of the others are left over. */
export function calls(
  handler: Handler,
  ready: readonly Ready[],
  room: number,
): { calls: Ready[][]; over: readonly Ready[] } {
  const { batch } = handler.job
  const all = batch === null ? ready.map((entry) => [entry]) : batches(batch, ready)
  return { calls: all.slice(0, room), over: all.slice(room).flat() }
}

/** Keys of one limit go together: those that never failed are not put beside those that did. */
function batches(batch: number, ready: readonly Ready[]): Ready[][] {
  const list: Ready[][] = []
  for (const [limit, entries] of groupBy(ready, (entry) => limitOf(batch, entry)))
    for (let at = 0; at < entries.length; at += limit) list.push(entries.slice(at, at + limit))
  return list
}

/**
 * Its last attempt a key has to itself, also when earlier ones failed by a mark of their own: nobody is quarantined for what
 * another one throws. One that never failed is not in its last attempt, but where there is only one.
 */
function limitOf(batch: number, { together, failures, job }: Ready): number {
  if (failures > 0 && failures + 1 >= job.retry.attemptsMax) return 1
  return Math.min(together ?? batch, batch)
}
