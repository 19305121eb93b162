// What follows from a hint that starts nothing. Decided purely: hints to push, and hints to look at again.
import { horizonMs } from '../job/horizon.ts'
import type { Job } from '../job/job.ts'
import type { Hint, PoppedHint } from '../queue/hint.ts'
import type { Refused } from './stages.ts'

export interface Reaction {
  readonly push: Hint[]
  readonly lookAgain: PoppedHint[]
  /** May only run alone. */
  readonly suspects: PoppedHint[]
}

export function react(job: Job, refused: readonly Refused[]): Reaction {
  const push: Hint[] = []
  const suspects: PoppedHint[] = []
  const lookAgain: PoppedHint[] = []
  for (const { hint, why, waitMs } of refused)
    switch (why) {
      case 'running':
        // Somebody enqueued it while it runs: its row may have changed after the handler read it.
        if (hint.fresh && job.uniqueUntil === 'start') push.push({ ...hint, delayMs: 1_000 })
        break
      case 'not_due':
        // M32: a key in back-off is not dropped for good. What the next sweep hints in time is left to that sweep: a hint for then would
        // keep the sweep from hinting the row if it comes due sooner, at worst for years (L3).
        if (waitMs <= horizonMs(job)) push.push({ ...hint, fresh: false, delayMs: waitMs })
        break
      case 'not_pending':
        // Its row may not be committed yet.
        if (hint.fresh) lookAgain.push(hint)
        break
      case 'lease_lost':
        push.push({ ...hint, delayMs: 1_000 })
        break
      case 'suspect':
        suspects.push(hint)
        break
      case 'paused':
      case 'quarantined':
        break
    }
  return { push, lookAgain, suspects }
}
