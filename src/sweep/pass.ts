// Lower arrow: a pass over a pending query in keyset pages, pushing the hints that are missing.
// It holds no state that a crash could lose: hints pushed so far are fine, the cursor is in the store.
import type { Job } from '../job/job.ts'
import type { Push } from '../queue/push.ts'
import type { Source } from '../store/source.ts'

/** Rows scanned per page. */
const pageRows = 1_000

/** One pass; `advance` stores the cursor and says whether to go on. Returns where to go on later; null: it finished. */
export async function pass(
  source: Source,
  push: Push,
  job: Job,
  from: string | null,
  advance: (cursor: string) => Promise<boolean>,
): Promise<string | null> {
  // What comes due before the next sweep is pushed now, as a delayed hint.
  const horizonMs = job.sweepEveryMs * 1.2 + 1_000
  let cursor = from
  for (;;) {
    const { rows, scanned, last } = await source.page(cursor, pageRows, horizonMs)
    await push(rows.map(({ key, waitMs }) => ({ job: job.name, key, delayMs: waitMs, fresh: false })))
    // L6: the cursor moves on even when nothing was eligible.
    cursor = scanned < pageRows ? null : last
    if (cursor === null || !(await advance(cursor))) return cursor
  }
}
