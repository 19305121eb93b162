// Random steps against a queue: what its users do to it, over few jobs, few keys and small bounds, so that everything meets.
import fc from 'fast-check'
import type { Mark } from '../../../src/job/canary-mark.ts'
import type { Hint, QueueBounds } from '../../../src/queue/hint.ts'
import type { PopRequest, PushOptions } from '../../../src/queue/queue.ts'

/** Jobs that steps speak of. */
export const jobs: readonly string[] = ['a', 'b']

/** Small enough to be reached in each sequence. */
export const bounds: QueueBounds = { maxHints: 5, maxDelayed: 4 }

/** One thing that is done to a queue. */
export type Step =
  | { readonly do: 'push'; readonly hints: readonly Hint[]; readonly options: PushOptions }
  /** Hints of keys that no other step has, more than there is room for, in one push; then everything is wiped. */
  | { readonly do: 'flood'; readonly hints: readonly Hint[]; readonly options: PushOptions }
  | { readonly do: 'pop'; readonly request: PopRequest }
  | { readonly do: 'setMark' | 'advanceMark'; readonly mark: Mark }
  | { readonly do: 'count' | 'wipe' }
  | { readonly do: 'pass'; readonly ms: number }

const job = fc.constantFrom(...jobs)
const delayMs = fc.constantFrom(0, 0, 0, 10, 20, 50, -10)
// Plain objects, so that they compare equal to those of a queue.
const mark = fc.record(
  { epoch: fc.constantFrom(1, 1, 1, 2), sequence: fc.integer({ min: 0, max: 4 }) },
  { noNullPrototype: true },
)

const hint = fc.record({
  job,
  key: fc.integer({ min: 0, max: 9 }).map((n) => `k${n}`),
  delayMs,
  fresh: fc.boolean(),
})

const options = fc.record(
  { share: fc.constantFrom(1, 1, 0.5, 0.3, 0), epoch: fc.constantFrom(null, null, 1, 2) },
  { requiredKeys: [] },
)

const push = fc.record({
  do: fc.constant('push' as const),
  hints: fc.uniqueArray(hint, { selector: (each) => `${each.job} ${each.key}`, maxLength: 8, size: 'max' }),
  options,
})

const flood = fc
  .record({ job, delayMs, fresh: fc.boolean(), count: fc.integer({ min: 4, max: 12 }), options })
  .map(({ count, options: how, ...rest }) => ({
    do: 'flood' as const,
    hints: Array.from({ length: count }, (_, n) => ({ ...rest, key: `flood${n}` })),
    options: how,
  }))

const pop = fc
  .record({
    jobs: fc.uniqueArray(fc.record({ job, limit: fc.integer({ min: 0, max: 8 }) }), {
      selector: (each) => each.job,
      maxLength: jobs.length,
    }),
    limit: fc.integer({ min: 0, max: 8 }),
  })
  .map((request) => ({ do: 'pop' as const, request: { ...request, waitMs: 0 } }))

/** A sequence of steps. */
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { arbitrary: push, weight: 12 },
    { arbitrary: pop, weight: 8 },
    { arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 30 }) }), weight: 4 },
    { arbitrary: fc.record({ do: fc.constantFrom('setMark' as const, 'advanceMark' as const), mark }), weight: 6 },
    { arbitrary: fc.record({ do: fc.constant('count' as const) }), weight: 2 },
    { arbitrary: flood, weight: 1 },
    { arbitrary: fc.record({ do: fc.constant('wipe' as const) }), weight: 1 },
  ),
  { minLength: 1, maxLength: 60, size: 'max' },
)
