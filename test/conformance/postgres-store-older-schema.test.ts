// The store keeps every rule on the schema one version back, too, but for what its new columns remember: a deploy and its
// migration may come in either order.
import { expect, test } from 'vitest'
import { postgres } from '../../src/backends/postgres/index.ts'
import { oldestSchema } from '../../src/store/sql/schema.ts'
import { atSchema } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

/** Cases of schema 4, by what they need of it. */
const skips: Record<string, string[]> = {
  'sweeps.every_ms, pending, oldest_at, errors, stalled: what a turn found is not remembered': [
    'a sweep knows the interval of its declaration, and the new one after a deploy',
    'a whole pass counts what is pending, in however many turns; rows seen again count once',
    'until a pass is whole an estimate stands in, or what the turn saw if that is more',
    'a turn that fails keeps what is known, and is counted until one succeeds',
    'the oldest row is that of the whole pass; when nothing waits there is none',
    'runs without progress are told for the pass they came in and the one after',
  ],
  'marks, heals: losses of a queue are neither noticed nor remembered': [
    'a loss of the queue is in the history, and ends when the last job of a live worker has its hints back',
    'turns that end at once count a heal right: its hints are all there, and one of them ends it',
    'hints that a pass brought back are counted on its way, once: a heal that the next loss overtakes has its count',
    'the history of losses is told newest first, and no more of it than asked for',
  ],
  'sweeps.ramped_at: a pass after a pause is not ramped': [
    'the pass after a pause knows since when everything comes back, whether it was resumed or ran out',
  ],
  'pauses.backlog: how much waited when a pause began is not remembered': [
    'what was pending when a pause began is counted once, by its first whole pass',
  ],
}

test('the skips are those of schema 3: with a newer schema they have to go', () => {
  expect(oldestSchema).toBe(3)
})

declareCases(
  postgresStoreSuite(
    ({ url }) => atSchema(postgres(url), url, oldestSchema),
    Object.entries(skips).flatMap(([reason, names]) => names.map((name) => ({ case: name, reason }))),
  ),
)
