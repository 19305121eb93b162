// The upper arrow begins here: a key comes in, a fresh hint goes out through the one door. A broken queue never fails
// the caller's request: the row is there, and the sweep finds it.
import type { Job } from '../job/job.ts'
import type { Pushed } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'

/** Hints the row whose key this is; says what became of the hint. */
export function enqueue(push: Push, job: Job, key: string): Promise<Pushed> {
  return push([{ job: job.name, key, delayMs: 0, fresh: true }])
}
