// Lower arrow: rows of a page become hints, and what the ledger remembers of older versions is cleared.
import type { Random } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import type { Pushed } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { Ledger } from '../store/ledger.ts'
import type { PageRow } from '../store/source.ts'

export interface HintPorts {
  readonly random: Random
  readonly ledger: Ledger
  readonly push: Push
}

/**
 * `epoch`: of the queue that they are meant for; null: whichever there is. What the queue can never hold is told by an event, and is
 * not among the dropped: who waits for room would wait without end.
 */
export async function hintRows(
  { ledger, push, random }: HintPorts,
  job: Job,
  rows: readonly PageRow[],
  epoch: number | null = null,
): Promise<Pushed> {
  const pushed = await push(
    rows.map(({ key, waitMs, renewed }) => ({
      job: job.name,
      key,
      delayMs: waitMs + (job.sweepJitterMs > 0 ? random.float() * job.sweepJitterMs : 0),
      // A new version has the hint of the old one's back-off in its way: only a fresh one makes that sooner.
      fresh: renewed,
    })),
    { epoch },
  )
  const { dropped, refused = 0, lost = 0 } = pushed
  const isWhole = dropped === refused && lost === 0
  // After the push: a crash in between leaves a hint whose check clears the row by itself. Not when hints are missing: the next pass
  // has to know that these are fresh, or it leaves the hint of the old back-off in their way (L3).
  const renewed = rows.flatMap(({ key, version, renewed }) => (renewed && version !== null ? [{ key, version }] : []))
  if (isWhole && renewed.length > 0) await ledger.clear(job.name, renewed)
  return { ...pushed, dropped: dropped - refused }
}
