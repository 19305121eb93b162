// The one door: user, sweep, worker and CLI end in this bulk push. It never throws: a hint that the queue does not take is
// an event, and the row it stood for is found by the sweep.
import { bisect } from '../base/bisect.ts'
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { inPages } from '../base/for-each-page.ts'
import type { EventMap } from '../job/event-map.ts'
import { type Hint, type Pushed, pushed } from './hint.ts'
import {
  badHint,
  type FillRequest,
  type FillResult,
  outOfMemory,
  type PushOptions,
  type PushQueue,
  type Queue,
} from './queue.ts'

/** What a statement costs beside its hints is a tenth of pages of 1,000, and half of that here. */
const pageSize = 2_000
/** Pages on their way at a time: while the queue works on one, the next one is made and sent. */
const pagesAway = 4
/** S16: a queue that does not answer in this time counts as broken; somebody's request waits for it. */
const deadlineMs = 10_000

/** `epoch`: of the queue that a sweep means to fill; see `PushOptions`. */
export type Push = (hints: readonly Hint[], options?: Pick<PushOptions, 'epoch'>) => Promise<Pushed>

const nothing: Pushed = { added: 0, merged: 0, dropped: 0 }

/** How far the bounds shrink each time the queue has no memory, and how long they take to double again. */
const shrink = { by: 2, least: 1 / 64, doublesInMs: 30_000 }

/**
 * Pushes in pages of 2,000, each (job, key) once in it; a page that fails counts as dropped. One that a single hint breaks is halved
 * down to that hint, so that its neighbours get in (M36).
 */
export function pushDoor(queue: PushQueue, events: Events<EventMap>, clock: Clock): Push {
  /** After a push that was refused for memory: what it left of the bounds, and when. */
  let shrunk = { share: 1, at: 0 }
  const shareNow = () => Math.min(1, shrunk.share * 2 ** ((clock.now() - shrunk.at) / shrink.doublesInMs))
  return async (hints, { epoch = null } = {}) => {
    if (hints.length === 0) return nothing
    const total = { added: 0, merged: 0, dropped: 0, lost: 0, refused: 0, error: undefined as unknown }
    const send = (page: readonly Hint[]) =>
      withDeadline(clock, deadlineMs, 'queue.push', queue.push(page, { share: shareNow(), epoch }))
    const pushPage = async (given: readonly Hint[]) => {
      const page = unique(given)
      total.merged += given.length - page.length
      try {
        const { answers, broken } = await bisect(page, send, (error) => hasCode(error, badHint))
        for (const count of answers) {
          total.added += count.added
          total.merged += count.merged
          total.dropped += count.dropped
          total.lost += count.lost ?? 0
          if (count.dropped > 0) events.emit('hint.dropped', { count: count.dropped, why: 'full', error: null })
        }
        total.dropped += broken.size
        total.refused += broken.size
        for (const [{ job, key }, error] of broken)
          events.emit('hint.dropped', { count: 1, why: 'refused', error, job, key })
      } catch (error) {
        total.dropped += page.length
        total.error = error
        const memory = hasCode(error, outOfMemory)
        if (memory) shrunk = { share: Math.max(shrink.least, shareNow() / shrink.by), at: clock.now() }
        events.emit('hint.dropped', { count: page.length, why: memory ? 'memory' : 'queue', error })
      }
    }
    if (hints.length <= pageSize) await pushPage(hints)
    else
      await inPages(
        { count: hints.length, away: pagesAway },
        () => pageSize,
        (from, until) => pushPage(hints.slice(from, until)),
      )
    return pushed(total)
  }
}

const hasCode = (error: unknown, code: string) => error instanceof RegrowError && error.code === code

/** A page that the queue reads by itself; undefined where it cannot, or could not now: then its keys go through the door. */
export type Fill = (request: FillRequest) => Promise<FillResult | undefined>

/** What pages go through that do not leave the server. Beside the door, and as patient: it never throws. */
export function fillDoor(queue: Pick<Queue, 'filler'>, events: Events<EventMap>): Fill {
  return async (request) => {
    const filled = await queue.filler?.fill(request).catch(() => undefined)
    const dropped = filled?.pushed.dropped ?? 0
    if (dropped > 0) events.emit('hint.dropped', { count: dropped, why: 'full', error: null })
    return filled
  }
}

/** The door of a queue that is opened by its first use; one that cannot be opened now drops hints like a broken one. */
export function lateDoor(open: () => Promise<Push>, events: Events<EventMap>): Push {
  return async (hints, options) => {
    if (hints.length === 0) return nothing
    try {
      return await (await open())(hints, options)
    } catch (error) {
      if (error instanceof RegrowError) throw error
      events.emit('hint.dropped', { count: hints.length, why: 'queue', error })
      return { added: 0, merged: 0, dropped: hints.length, error }
    }
  }
}

/** One hint per (job, key): the fresh one, else the soonest. Of two in different pages the queue makes one. */
function unique(hints: readonly Hint[]): readonly Hint[] {
  if (hints.length < 2) return hints
  const jobs = new Map<string, Map<string, Hint>>()
  let count = 0
  for (const hint of hints) {
    const byKey = jobs.get(hint.job) ?? new Map<string, Hint>()
    if (byKey.size === 0) jobs.set(hint.job, byKey)
    const other = byKey.get(hint.key)
    if (!other) count++
    if (!other || (hint.fresh && !other.fresh) || (hint.fresh === other.fresh && hint.delayMs < other.delayMs))
      byKey.set(hint.key, hint)
  }
  return count === hints.length ? hints : [...jobs.values()].flatMap((byKey) => [...byKey.values()])
}
