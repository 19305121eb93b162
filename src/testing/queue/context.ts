// What a case of the queue suite works with, and the short words its steps are written in.
import assert from 'node:assert/strict'
import type { Clock } from '../../drivers/index.ts'
import type { Hint, PoppedHint, QueueBounds } from '../../queue/hint.ts'
import type { PopQueue, Queue } from '../../queue/queue.ts'
import { within } from '../suite.ts'

/** The surroundings of one case. */
export interface QueueContext {
  /** An empty queue; bounds that are left out are a million. */
  open(bounds?: Partial<QueueBounds>, clock?: Clock): Promise<Queue>
  /** The same hints as another process sees them; the same queue where it is not shared. */
  another(clock?: Clock): Promise<Queue>
  readonly clock: Clock
  readonly seed: number
  readonly log: (line: string) => void
}

/** Patience with a queue that polls: it may find out a second late, never much later. */
export const promptMs = 2_500
/** A delay that no case lives to see the end of. */
export const hourMs = 3_600_000

/** A hint of job `a`, due now and fresh where nothing else is said. */
export function hint(key: string, { job = 'a', delayMs = 0, fresh = true }: Partial<Omit<Hint, 'key'>> = {}): Hint {
  return { job, key, delayMs, fresh }
}

/** `count` hints with the keys `k0`, `k1`, … */
export function hints(count: number, how: Partial<Omit<Hint, 'key'>> = {}, prefix = 'k'): Hint[] {
  return Array.from({ length: count }, (_, i) => hint(`${prefix}${i}`, how))
}

/** Pops once what is due now. */
export async function pop(queue: PopQueue, limit = 1_000, jobs: readonly string[] = ['a']): Promise<PoppedHint[]> {
  const request = { jobs: jobs.map((job) => ({ job, limit })), limit, waitMs: 0 }
  return [...(await queue.pop(request)).hints]
}

/** Pops until nothing is due. */
export async function drain(queue: PopQueue, jobs: readonly string[] = ['a']): Promise<PoppedHint[]> {
  const all: PoppedHint[] = []
  for (;;) {
    const some = await pop(queue, 1_000, jobs)
    if (some.length === 0) return all
    all.push(...some)
  }
}

/** Waits for the next hint of job `a`, and fails when none comes. */
export async function next({ clock }: QueueContext, queue: PopQueue, job = 'a'): Promise<PoppedHint> {
  const request = { jobs: [{ job, limit: 1 }], limit: 1, waitMs: promptMs }
  const { hints: found } = await within(clock, 2 * promptMs, `A pop that waits ${promptMs} ms`, queue.pop(request))
  assert.equal(found.length, 1, `a hint of job "${job}" was expected within ${promptMs} ms`)
  return found[0] as PoppedHint
}

/** Keys in their order of bytes, so that two lists can be compared. */
export const sortedKeys = (list: readonly { readonly key: string }[]): string[] =>
  list.map(({ key }) => key).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
