// The queue on Postgres keeps every rule on the schema one version back, too.
import { afterAll, beforeAll } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { oldestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { migrateTo } from '../services/schemas.ts'
import { declareCases } from './declare-cases.ts'
import { openQueue } from './postgres-subject.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase('queue')
  await migrateTo(database.url, oldestSchema)
})
afterAll(() => database.drop())

declareCases(queueSuite({ open: (bounds, surroundings) => openQueue(postgres(database.url, bounds), surroundings) }))
