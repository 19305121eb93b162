// Upper arrow, between check and run, for intents with a unique key and `uniqueUntil: 'start'`: the key is given up in the store before the
// handler starts, so that an input enqueued from then on is work of its own. In: a checked batch. Out: the same, without what waits.
import { type Random, spread } from '../../base/random.ts'
import type { Job } from '../../job/job.ts'
import type { Intents } from '../../store/intents.ts'
import type { CheckedBatch } from '../stages.ts'

/** How long an intent waits for another one of the same unique key, and how far that is spread: two that wait for each other part. */
const later = { ms: 1_000, spread: 0.5 }

/** L1: what was merged before this is done by the run that follows. A batch without unique keys passes as it is: nothing is asked. */
export async function startUnique(
  batch: CheckedBatch,
  job: Job,
  intents: Pick<Intents, 'startUnique'>,
  random: Random,
): Promise<CheckedBatch> {
  if (!batch.ready.some(({ unique }) => unique)) return batch
  const keys = batch.ready.flatMap(({ key, unique }) => (unique ? [key] : []))
  const starting = new Set(await intents.startUnique(job.name, keys))
  const mayStart = ({ key, unique }: CheckedBatch['ready'][number]) => !unique || starting.has(key)
  const waiting = batch.ready.filter((entry) => !mayStart(entry))
  return {
    ...batch,
    ready: batch.ready.filter(mayStart),
    stopped: [
      ...batch.stopped,
      ...waiting.map((entry) => ({ entry, why: 'not_due' as const, waitMs: spread(random, later.ms, later.spread) })),
    ],
  }
}
