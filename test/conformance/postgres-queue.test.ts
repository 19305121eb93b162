// The queue of UNLOGGED hints on Postgres keeps every rule of a queue.
import { afterAll, beforeAll } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { queueSuite } from '../../src/testing/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { declareCases } from './declare-cases.ts'
import { migrated, openQueue } from './postgres-subject.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase('queue')
  await migrated(database.url)
})
afterAll(() => database.drop())

declareCases(queueSuite({ open: (bounds, surroundings) => openQueue(postgres(database.url, bounds), surroundings) }))
