// Lower arrow: is the queue still the one that was filled? Twice a second one process changes the mark it finds in the queue,
// then raises the store's copy. A mark that is missing, foreign or behind is looked at once more; then one winner declares
// the loss, and every sweep begins a new pass. Runs busy or idle, and sooner when a pop brings a mark that differs (L4).
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import { type Difference, difference, type Mark } from '../job/canary-mark.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Canary } from '../queue/canary.ts'
import type { Queue } from '../queue/queue.ts'
import type { Marks } from '../store/canary.ts'

/** How often who changed the queue's mark does so again: a loss is noticed within this. */
const changeMs = 500
/** How often everybody else looks whether somebody still does. */
const lookMs = 1_000
/**
 * How often it is looked at and changed while pops bring the mark of a queue that cannot roll back: they see each second that it is
 * there, and the rounds between need not ask the store.
 */
const seenLooks = 27
const seenMs = 1_100
/** Who asks a little early may change it: twice the time would pass otherwise. */
const bumpMs = changeMs * 0.9
/** Rebuilds keep this distance. */
const apartMs = 2_000
const againMs = 100

export interface LostPorts {
  readonly events: Events<EventMap>
  readonly marks: Marks
  readonly canary: Canary
  readonly queue: Pick<Queue, 'name' | 'shared' | 'rollsBack' | 'setMark' | 'advanceMark' | 'wipe'>
  /** Who notices, for the history: host and pid. */
  readonly by: string
  /** Every sweep is due: begins the next round of the sweep loop now. */
  readonly sweepNow: () => void
  /** A queue that nobody knew is empty: makes the sweeps due. */
  readonly firstSeen: () => Promise<void>
}

export function canaryLoop(ports: LostPorts): LoopSpec {
  const { marks, queue, canary } = ports
  let skipped = 0
  return {
    name: 'canary',
    async tick() {
      // M38: a queue of this process alone says nothing about the fleet.
      if (!queue.shared) return lookMs
      const seen = canary.wasSeen() && queue.rollsBack === false
      if (seen && ++skipped < seenLooks) return seenMs
      skipped = 0
      const suspected = canary.suspected
      const before = canary.epoch
      const stored = await marks.look(queue.name, bumpMs)
      if (!stored) return lookMs
      canary.know(stored.mark)
      // Another process has declared a loss: its sweeps are due for this one as well.
      if (before !== null && stored.mark.epoch > before) ports.sweepNow()
      if (stored.first) await greet(ports, stored.mark)
      else if (stored.setBack) await discard(ports, stored.mark)
      else if (stored.bumps || suspected) {
        const nextMs = await compare(ports, stored.mark)
        return seen && nextMs === changeMs ? seenMs : nextMs
      }
      return lookMs
    },
  }
}

/** The first mark of a queue that the store had never heard of. */
async function greet({ queue, firstSeen, sweepNow }: LostPorts, mark: Mark): Promise<void> {
  await queue.setMark(mark)
  await firstSeen()
  sweepNow()
}

/**
 * L10: hints that were pushed before the store's clock was set back may be due much too late, and sweeps leave those alone that are there.
 * Thrown away first: who dies in between is followed by another one that sees the same.
 */
async function discard(ports: LostPorts, mark: Mark): Promise<void> {
  await ports.queue.wipe()
  await declare(ports, mark, null, 'missing')
}

async function compare(ports: LostPorts, mark: Mark): Promise<number> {
  const { marks, queue, canary } = ports
  if ((await lookAt(ports, mark)).how === null) return changeMs
  // Once more, the store first: somebody may have declared the loss between the two looks.
  const again = await marks.look(queue.name, bumpMs)
  if (!again) return lookMs
  canary.know(again.mark)
  const { found, how } = await lookAt(ports, again.mark)
  if (how === null) return changeMs
  await declare(ports, again.mark, found, how)
  // Won or not, it has to be seen to be in order: the winner may have died before it made the mark.
  canary.suspected = true
  return againMs
}

/** Compares, and moves what is in order: the queue's mark first, then the store's copy (S17). */
async function lookAt(
  { queue, marks }: LostPorts,
  known: Mark,
): Promise<{ found: Mark | null; how: Difference | null }> {
  const found = await queue.advanceMark(known)
  const how = difference(known, found)
  if (found !== null && how === null)
    await marks.raise(queue.name, { ...known, sequence: Math.max(found.sequence, known.sequence + 1) })
  return { found, how }
}

async function declare(ports: LostPorts, known: Mark, found: Mark | null, how: Difference): Promise<void> {
  const { queue, marks, events, canary, by, sweepNow } = ports
  const mark = await marks.lose(queue.name, { known, found, how, by }, apartMs)
  // Somebody else's, or too soon after the last one.
  if (!mark) return
  // M41: only here, and for a queue never seen before, a mark is made.
  await queue.setMark(mark)
  canary.know(mark)
  events.emit('queue.lost', { queue: queue.name, how, epoch: mark.epoch })
  sweepNow()
}
