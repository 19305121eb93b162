// What follows from a hint that starts nothing. Decided purely: the hints to push again.
import type { Hint } from '../queue/hint.ts'
import type { Refused } from './batch.ts'

export function react(refused: readonly Refused[]): Hint[] {
  return refused.flatMap(({ hint, why, waitMs }) => {
    // Somebody enqueued it while it runs: its row may have changed after the handler read it.
    if (why === 'live' && hint.fresh) return [{ ...hint, delayMs: 1_000 }]
    // M32: a key in back-off is not dropped for good.
    if (why === 'later') return [{ ...hint, fresh: false, delayMs: waitMs }]
    return []
  })
}
