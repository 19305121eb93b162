// The embedded store keeps every rule of a store.
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgresDatabase, storeSuite } from '../../src/testing/index.ts'
import { declareCases } from './declare-cases.ts'

const db = new PGlite()
beforeAll(() => db.waitReady, 120_000)
afterAll(() => db.close())

declareCases(
  storeSuite({
    open: async () => (await pglite(db).open({ clock: systemClock, leaseMs: 15_000 })).store,
    database: postgresDatabase((text, params = []) => db.query<Record<string, unknown>>(text, [...params])),
    skip: [
      {
        case: 'a page that takes longer than it may is cancelled by the server',
        reason: 'PGlite runs in this thread: no timer of the server can interrupt a statement',
      },
    ],
  }),
)
