// Histories on the real SQL, a few of those that `npm run sim -- --store pglite` plays: the oracle sees the same, and they end
// as on the model.

import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { history } from './history.ts'
import { openPglite } from './pglite-truth.ts'

let pglite: PGlite

beforeAll(async () => {
  pglite = await openPglite()
}, 60_000)
afterAll(() => pglite.close())

// It has schedules, too.
test.each([6])(
  'seed %i breaks nothing on PGlite, and replays',
  async (seed) => {
    const { violations, hash, starts } = await history(seed, { pglite })
    expect(violations).toEqual([])
    expect(starts).toBeGreaterThan(0)
    expect((await history(seed, { pglite })).hash).toBe(hash)
  },
  180_000,
)
