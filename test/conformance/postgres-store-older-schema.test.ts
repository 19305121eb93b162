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
