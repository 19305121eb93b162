// The store keeps every rule on the schema one version back, too, but for what its new columns remember: a deploy and its
// migration may come in either order.
import { expect, test } from 'vitest'
import { postgres } from '../../src/backends/postgres/index.ts'
import { oldestSchema } from '../../src/store/sql/schema.ts'
import { atSchema } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

/** Cases of schema 3, by what they need of it. */
const skips = {
  'nobody is pardoned before schema 3: who crashed twice beside a poison key runs alone until it succeeds': [
    'a suspect that fails alone without a crash is no suspect any more',
    'when a key is caught crashing alone, those that died with it are no longer suspects',
  ],
  'batches are not halved before schema 3: a failed one is tried again whole': [
    'how many keys may share the next call is kept with a failure, and gone with a success',
  ],
  'stuck slots are not kept before schema 3': [
    'a beat tells how many slots are stuck, until another one tells otherwise',
  ],
  'nothing is audited before schema 3: its turns tell that it was done just now': [
    'an audit pages through the rows of one job in key order, and tells what each one is',
    'what an audit did not see is noted, seen again is noted, and neither is a change of the row',
    'an audit forgets what was noted before, and nothing that is held, quarantined, seen again or of another job',
    'a turn tells how long ago its job was audited',
  ],
}

test('the skips are those of schema 2: with a newer schema they have to go', () => {
  expect(oldestSchema).toBe(2)
})

declareCases(
  postgresStoreSuite(
    ({ url }) => atSchema(postgres(url), url, oldestSchema),
    Object.entries(skips).flatMap(([reason, names]) => names.map((name) => ({ case: name, reason }))),
  ),
)
