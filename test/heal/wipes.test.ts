// The queue is lost again and again while workers are killed -9, with real processes: nothing is lost, nothing doubled, and
// every loss is declared. `npm run wipes` does the same with 100,000 rows, and judges the times, too.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reopenRun } from '../chaos/reopen-run.ts'
import { wipeRun } from '../chaos/wipe-run.ts'
import { buildSources } from '../processes/build.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let sources: ReturnType<typeof buildSources>
let database: FreshDatabase
let folder: string
const seed = Math.floor(Math.random() * 1_000_000)
const shared = { batch: 2, leaseMs: 2_000, seed, limitMs: 90_000 }

beforeAll(async () => {
  sources = buildSources('wipes-test')
  database = await freshDatabase('wipes')
  folder = mkdtempSync(join(tmpdir(), 'regrow-wipes-'))
  console.log(`wipes: seed ${seed}`)
})
afterAll(async () => {
  await database?.drop()
  sources?.remove()
  rmSync(folder, { recursive: true, force: true })
})

test('a Postgres queue that is wiped three times while workers are killed loses nothing and doubles nothing', async () => {
  const result = await wipeRun({
    ...shared,
    build: sources.build,
    url: database.url,
    folder: mkdtempSync(join(folder, 'postgres-')),
    rows: 4_000,
    workers: 3,
    concurrency: 8,
    takesMs: 100,
    wipeEveryMs: 2_200,
    killEveryMs: 3_000,
    wipesMax: 3,
  })
  console.log(JSON.stringify(result))
  expect(result).toMatchObject({ rows: 4_000, done: 4_000, lost: 0, doubled: 0, quarantined: 0, surprises: [] })
  expect(result.kills).toBeGreaterThan(0)
  expect(result.wipes).toHaveLength(3)
  for (const { hints, noticedMs } of result.wipes) {
    expect(hints).toBeGreaterThan(0)
    expect(noticedMs).not.toBeNull()
  }
  expect(result.heals.map(({ how }) => how)).toEqual(['missing', 'missing', 'missing'])
}, 120_000)

test('a PGlite whose process is killed and reopened, and so loses its queue, loses nothing and doubles nothing', async () => {
  const result = await reopenRun({
    ...shared,
    build: sources.build,
    folder: mkdtempSync(join(folder, 'pglite-')),
    rows: 1_000,
    concurrency: 4,
    takesMs: 40,
    killEveryMs: 1_500,
    killsMax: 2,
  })
  console.log(JSON.stringify(result))
  expect(result).toMatchObject({
    rows: 1_000,
    done: 1_000,
    lost: 0,
    doubled: 0,
    quarantined: 0,
    kills: 2,
    surprises: [],
  })
  expect(result.reopened).toHaveLength(2)
}, 120_000)
