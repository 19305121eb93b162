// The store keeps every rule on a schema one version ahead, too: migrations only add, and old code works on beside new.
import { postgres } from '../../src/drivers/postgres/index.ts'
import { newestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { atSchema } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { postgresStoreSuite } from './postgres-subject.ts'

const suite = postgresStoreSuite(({ url }) => atSchema(postgres(url), url, newestSchema + 1))
// Every third: what could break is how statements name their columns, and each statement is in many cases.
declareCases(suite.filter((_, n) => n % 3 === 0))
