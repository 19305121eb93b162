// The store keeps every rule on the schema one version back, too, but for what its new columns remember: a deploy and its
// migration may come in either order.
import { expect, test } from 'vitest'
import { postgres } from '../../src/backends/postgres/index.ts'
import { oldestSchema } from '../../src/store/sql/schema.ts'
import { schedulesCases } from '../../src/testing/store/schedules.ts'
import { atSchema } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

/** Cases that need what the newest schema brought, by what that is. */
const skips: Record<string, string[]> = {
  'schema 5 has no tables of schedules': schedulesCases.map(({ name }) => name),
}

test('the skips are those of schema 5: with a newer schema they have to go', () => {
  expect(oldestSchema).toBe(5)
})

declareCases(
  postgresStoreSuite(
    ({ url }) => atSchema(postgres(url), url, oldestSchema),
    Object.entries(skips).flatMap(([reason, names]) => names.map((name) => ({ case: name, reason }))),
  ),
)
