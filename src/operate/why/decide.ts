// The one place that decides why a key does not run. In: facts. Out: the reason that has to go first, in words, and those
// that would hold it back next. Pure: the time is the store's, nothing is asked here.
import {
  backedOff,
  broken,
  held,
  notPending,
  noWorker,
  paused,
  quarantined,
  runAt,
  suspect,
  unusable,
} from './blocking-reasons.ts'
import type { WhyFacts } from './facts.ts'
import type { Judge, Told } from './reason.ts'
import { waiting } from './waiting-reasons.ts'

/** What keeps a key from running, told in the order in which it has to be mended. */
export interface Decided extends Told {
  /** What would hold it back next; empty for most. */
  readonly also: readonly Told[]
}

/** These answer by themselves: as long as one holds, no other matters. */
const alone: readonly Judge[] = [unusable, held]
/** These may hold at the same time; the first is what has to be mended first. */
const together: readonly Judge[] = [notPending, quarantined, paused, runAt, noWorker, backedOff, suspect]

export function decide(facts: WhyFacts): Decided {
  const failing = broken(facts)
  if (failing) return { ...failing, also: [noWorker(facts) ?? []].flat() }
  for (const judge of alone) {
    const told = judge(facts)
    if (told) return { ...told, also: [] }
  }
  const [first, ...also] = together.flatMap((judge) => judge(facts) ?? [])
  return first ? { ...first, also } : { ...waiting(facts), also: [] }
}
