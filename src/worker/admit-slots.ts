// Upper arrow, between check and run, for slots of schedules only: what may start by its row may still be overlapped, missed, or
// edited. In: a checked batch. Out: the same, without what does not begin.
import { type Random, spread } from '../base/random.ts'
import type { CheckedBatch } from './stages.ts'

/** Asks what becomes of slots, by key; where it answers `begins`, the next slot of that schedule is made. */
export type BeginSlots = (
  keys: readonly string[],
) => Promise<ReadonlyMap<string, 'begins' | 'skipped' | 'later' | 'gone'>>

/**
 * How long a slot waits for another one, before it asks again, and how far that is spread: two that had begun before, taken by two
 * processes at the same moment, each see the other's claim and step back, and must not come back together.
 */
const later = { ms: 1_000, spread: 0.5 }

export async function begun(batch: CheckedBatch, begin: BeginSlots, random: Random): Promise<CheckedBatch> {
  if (batch.ready.length === 0) return batch
  const verdicts = await begin(batch.ready.map(({ key }) => key))
  // One for the whole batch: what catches up comes back together, and in its order.
  const waitMs = spread(random, later.ms, later.spread)
  const stopped = batch.ready.flatMap((entry): CheckedBatch['stopped'] => {
    const verdict = verdicts.get(entry.key)
    if (verdict === 'begins') return []
    return verdict === 'later' ? [{ entry, why: 'not_due', waitMs }] : [{ entry, why: 'not_pending', waitMs: 0 }]
  })
  return {
    ...batch,
    ready: batch.ready.filter(({ key }) => verdicts.get(key) === 'begins'),
    stopped: [...batch.stopped, ...stopped],
  }
}
