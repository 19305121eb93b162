// A source of the user's own may answer anything. Which of the keys it answers badly for is found out, that key is counted as failed with
// a readable reason, and its neighbours run (M36).
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World
beforeAll(async () => {
  db = await openPglite('')
})
beforeEach(async () => {
  world = await World.begin(db)
})
afterAll(() => db.close())

const neighbours = Array.from({ length: 20 }, (_, i) => `n${i}`)

/** A job whose source answers `badly` where it is asked about the key `bad`. */
function among(badly: (right: readonly { key: string }[]) => unknown, keys: readonly string[]) {
  const { app, ear } = world.app()
  const done = new Set<string>()
  const job = app.job('thing.own', {
    pending: {
      page: async () => [],
      isPending: async (asked: readonly string[]) => {
        const right = asked.filter((key) => !done.has(key)).map((key) => ({ key }))
        return (asked.includes('bad') ? badly(right) : right) as never
      },
    },
    retry: { attempts: 2, delay: '1s' },
    run: (key) => void done.add(key),
  })
  const work = async () => {
    await world.work(app, { concurrency: 50 })
    await job.enqueueMany([...keys])
  }
  return { ear, done, work }
}

const answers: readonly [what: string, answer: (right: readonly { key: string }[]) => unknown, reason: string][] = [
  [
    'an error',
    () => {
      throw new Error('I do not know it')
    },
    'I do not know it',
  ],
  [
    'a thrown null',
    () => {
      throw null
    },
    'null',
  ],
  ['nothing', () => undefined, 'undefined'],
  ['an object', () => ({}), 'answered an object, expected an array'],
  ['a row that is null', (right) => [...right, null], 'null'],
  ['a key of another type', (right) => [...right, { key: 5 }], 'Expected a key of type text, found 5'],
  ['a run_at that is no date', (right) => right.map((row) => ({ ...row, runAt: 'soon' })), 'runAt'],
  ['a version that has no text', (right) => right.map((row) => ({ ...row, version: Object.create(null) })), 'version'],
  ['a revoked proxy', () => revoked(), 'proxy'],
]

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}

test.each(answers)('%s is the failure of its key alone', async (_, answer, reason) => {
  const { ear, done, work } = among(answer, [...neighbours, 'bad'])
  await work()
  await world.until(() => ear.of('job.settled', { key: 'bad', state: 'quarantined' }).length > 0, 30_000)
  expect([...done].sort()).toEqual([...neighbours].sort())
  const [row] = await world.query<{ failures: number; error: string }>(
    `select failures, error from regrow.ledger where key = 'bad'`,
  )
  expect(row?.failures).toBe(2)
  expect(row?.error).toContain(reason)
})

test.each([
  ['answers the same page for ever', (_: string | null) => 'a'],
  ['goes round in circles', (after: string | null) => (after?.startsWith('a') ? 'b' : 'a')],
])('the sweep of a source that %s fails, and is told', async (_, prefixOf) => {
  const { app, ear } = world.app()
  let asked = 0
  app.job('thing.own', {
    pending: {
      page: async (after: string | null, limit: number) =>
        // No test is endless.
        Array.from({ length: ++asked > 20 ? 0 : limit }, (_, i) => ({
          key: prefixOf(after) + String(i).padStart(6, '0'),
        })),
      isPending: async () => [],
    },
    run: () => {},
  })
  const { app: other, ear: others } = world.app()
  other.job('thing.other', { pending: { page: async () => [], isPending: async () => [] }, run: () => {} })
  await world.work(app)
  await world.work(other)
  await world.until(() => ear.of('sweep.failed').length > 0)
  expect(String(ear.of('sweep.failed')[0]?.error)).toMatch(/ended with .* again|for the second time/)
  expect(others.of('sweep.passed').length).toBeGreaterThan(0)
  const [row] = await world.query<{ holder: string | null; last_error: string }>(
    `select holder, last_error from regrow.sweeps where job = 'thing.own'`,
  )
  expect(row).toMatchObject({ holder: null, last_error: expect.stringContaining('Job "thing.own"') })
})

test('a source that cannot reach its own database blames nobody', async () => {
  let away = true
  const { ear, done, work } = among(
    (right) => {
      if (away) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      return right
    },
    ['bad'],
  )
  await work()
  await world.pass(5_000)
  expect(ear.of('job.settled')).toEqual([])
  away = false
  await world.until(() => done.has('bad'), 60_000)
  expect(ear.of('job.settled', { key: 'bad' })).toMatchObject([{ state: 'done' }])
})
