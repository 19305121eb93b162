// The one door: user, worker and sweep end in this bulk push. It never throws: a hint that the queue does not take is
// an event, and the row it stood for is found by the sweep.
import type { Events } from '../base/events.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Hint, Pushed } from './hint.ts'
import type { PushQueue } from './queue.ts'

export type Push = (hints: readonly Hint[]) => Promise<Pushed>

/** The door to `queue`. */
export function pushDoor(queue: PushQueue, events: Events<EventMap>): Push {
  return async (hints) => {
    if (hints.length === 0) return { added: 0, merged: 0, dropped: 0 }
    try {
      return await queue.push(hints)
    } catch (error) {
      events.emit('hint.dropped', { count: hints.length, error })
      return { added: 0, merged: 0, dropped: hints.length }
    }
  }
}
