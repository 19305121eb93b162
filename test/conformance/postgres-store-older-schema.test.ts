// The store keeps every rule on the schema one version back, too: a deploy and its migration may come in either order.
import { postgres } from '../../src/drivers/postgres/index.ts'
import { oldestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { atSchema } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

declareCases(
  postgresStoreSuite(
    ({ url }) => atSchema(postgres(url), url, oldestSchema),
    [
      {
        case: 'a job with a new declaration is swept at once, from its beginning, and first by who declared it',
        reason: 'schema 8 does not remember declarations',
      },
      {
        case: 'made due anew, the turn that a declaration keeps for its worker is free, though it never began',
        reason: 'schema 8 does not remember declarations',
      },
      {
        case: 'an intent waits while another one with its unique key is claimed, started or not',
        reason: 'schema 8 keeps no unique key of intents that have started',
      },
    ],
  ),
)
