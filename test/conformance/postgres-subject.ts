// Postgres as the suites want it: a database of their own, a statement beside the store, and the queue that a store has.
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { postgresDatabase, type RunnableCase, type Skip, storeSuite } from '../../src/testing/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { databaseOf, type Profile, type ProfileDatabase } from '../services/profiles.ts'

/** Brings regrow's tables into the database at `url`. */
export async function migrated(url: string): Promise<void> {
  const { store } = await postgres(url).open({ clock: systemClock, leaseMs: 15_000 })
  await store.migrate()
  await store.close()
}

/** The driver's own queue; its connections are closed with it. */
export async function openQueue(driver: StoreDriver, surroundings: { clock: Clock }): Promise<Queue> {
  const { store, defaultQueue } = await driver.open({ ...surroundings, leaseMs: 15_000 })
  const queue = defaultQueue()
  let closing: Promise<void> | undefined
  return new Proxy(queue, {
    get: (target, property) => {
      const value = Reflect.get(target, property)
      if (property === 'close') return () => (closing ??= target.close().then(() => store.close()))
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The store suite on a fresh database; statements beside the store go straight to the server. */
export function postgresStoreSuite(
  driver: (database: FreshDatabase) => StoreDriver,
  skip: readonly Skip[] = [],
): RunnableCase[] {
  let database: FreshDatabase
  let beside: pg.Client
  beforeAll(async () => {
    database = await freshDatabase('store')
    beside = new pg.Client({ connectionString: database.url })
    await beside.connect()
  })
  afterAll(async () => {
    await beside.end()
    await database.drop()
  })
  return storeSuite({
    open: async () => (await driver(database).open({ clock: systemClock, leaseMs: 15_000 })).store,
    database: postgresDatabase((text, params = []) => beside.query(text, [...params])),
    skip,
  })
}

/** The store suite on a database that is set up as the profile says. */
export function profileStoreSuite(profile: Profile): RunnableCase[] {
  let database: ProfileDatabase
  let beside: pg.Client
  beforeAll(async () => {
    database = await databaseOf(profile)
    beside = await database.session()
  })
  afterAll(() => database.drop())
  return storeSuite({
    open: async () => (await database.driver().open({ clock: systemClock, leaseMs: 15_000 })).store,
    database: postgresDatabase((text, params = []) => beside.query(text, [...params])),
  })
}
