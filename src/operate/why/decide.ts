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
import type { Reason, Rule } from './reason.ts'
import { waiting } from './waiting-reasons.ts'

/** What keeps a key from running, told in the order in which it has to be mended. */
export interface MainReason extends Reason {
  /** What would hold it back next; empty for most. */
  readonly also: readonly Reason[]
}

/** These answer by themselves: as long as one holds, no other matters. */
const alone: readonly Rule[] = [unusable, held]
/** These may hold at the same time; the first is what has to be mended first. */
const together: readonly Rule[] = [notPending, quarantined, paused, runAt, noWorker, backedOff, suspect]

export function decide(facts: WhyFacts): MainReason {
  const failing = broken(facts)
  if (failing) return { ...failing, also: [noWorker(facts) ?? []].flat() }
  for (const judge of alone) {
    const told = judge(facts)
    if (told) return { ...told, also: [] }
  }
  const [first, ...also] = together.flatMap((judge) => judge(facts) ?? [])
  return first ? { ...first, also } : { ...waiting(facts), also: [] }
}
