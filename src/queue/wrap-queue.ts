// A queue with some of its members replaced: what every decorator of a queue is made of.
import type { Queue } from './queue.ts'

/**
 * The queue, with `own` in place of its members of the same names. Forwards all others, so a decorator stays complete when the
 * port gains a member. A getter of `own` is read at each use; one that answers undefined hides an optional member.
 */
export function wrapQueue<Own extends Partial<Queue>>(queue: Queue, own: Own): Queue & Own {
  return new Proxy(queue as Queue & Own, {
    get(_, name) {
      const target = name in own ? own : queue
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
    has: (_, name) => name in own || name in queue,
  })
}
