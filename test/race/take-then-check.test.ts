// A take and its check in one round trip are two statements still: the second sees what was committed before the first was granted
// (S2), and an error of either is its own. So is the pop of a hint that was told by name, which travels before them.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { receiptOf } from '../../src/drivers/postgres/store/opaque.ts'
import { type Job, readJob } from '../../src/job/job.ts'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { claims, granted, outcomes, Stores } from './stores.ts'

let stores: Stores
let store: Store
let job: Job

beforeAll(async () => {
  stores = await Stores.open('take_check')
  store = await stores.store()
  await store.prepare({ migrate: false })
  await stores.query(`create table rows (id text primary key, state text not null, divisor int not null default 1)`)
  const pending = { text: `select id from rows where state = 'pending' and 1 / divisor > 0`, values: [] }
  job = readJob('a', { pending }).job
})
afterAll(() => stores.close())
beforeEach(async () => {
  await stores.query('truncate rows, regrow.ledger, regrow.workers, regrow.hints')
  for (const holder of ['w1', 'w2']) await stores.worker(holder)
  await stores.query(`insert into rows (id, state) values ('x', 'pending'), ('y', 'pending'), ('z', 'done')`)
})

async function both(holder: string, list: readonly Claim[], by: Store = store) {
  const answer = await by.ledger.oneTrip?.claim(holder, by.source(job), list)
  if (answer === 'gone') throw new Error('No receipt was given')
  return answer
}

test('keys that nobody knows are taken, and the check tells which of them are pending', async () => {
  const found = await both('w1', claims(['x', 'y', 'z']))
  expect([...(found?.checked?.pending.keys() ?? [])].sort()).toEqual(['x', 'y'])
  for (const key of ['x', 'y', 'z']) expect(await stores.row(key)).toMatchObject({ holder: 'w1', state: 'running' })
})

test('work that is finished while the take waits for it is granted, and found not to be pending', async () => {
  const [held] = await granted(store, 'w2', claims(['x']))
  const beside = await stores.client()
  await beside.query('begin')
  await beside.query(`update rows set state = 'done' where id = 'x'`)
  await beside.query(`delete from regrow.ledger where key = 'x' and take = $1`, [held?.take])
  const waiting = both('w1', claims(['x']))
  // The statement stands behind the row that the other transaction is about to delete.
  const blocked = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await stores.query(blocked)).length === 0);
  await beside.query('commit')
  const found = await waiting
  expect(await stores.row('x')).toMatchObject({ holder: 'w1' })
  expect(found?.checked?.pending.size).toBe(0)
})

test('where one of the keys is remembered nothing is taken, and the next takes look first', async () => {
  const [failed] = await granted(store, 'w2', claims(['x']))
  await store.ledger.settle('w2', outcomes([failed as Claim], { state: 'retrying', failures: 1, retryMs: 60_000 }))
  expect(await both('w1', claims(['x', 'y']))).toBeNull()
  expect(await stores.row('y')).toBeUndefined()
  expect(await both('w1', claims(['y']))).toBeNull()
  expect((await store.ledger.take('w1', claims(['x', 'y']))).map(({ verdict }) => verdict)).toEqual([
    'not_due',
    'taken',
  ])
})

test('who is not registered takes nothing', async () => {
  const fresh = await stores.store()
  await fresh.prepare({ migrate: false })
  expect(await both('nobody', claims(['x']), fresh)).toBeNull()
  expect(await stores.row('x')).toBeUndefined()
})

test('a check that fails leaves the claims as they are, and the connection goes on', async () => {
  const fresh = await stores.store()
  await fresh.prepare({ migrate: false })
  await stores.query(`update rows set divisor = 0 where id = 'y'`)
  expect(await both('w1', claims(['x', 'y']), fresh)).toEqual({ checked: null })
  for (const key of ['x', 'y']) expect(await stores.row(key)).toMatchObject({ holder: 'w1' })
  expect((await fresh.source(job).check(['x'])).pending.size).toBe(1)
})

/** Claims the key of a hint that is still in the queue, by its receipt. */
async function named(holder: string, key: string, by: Store = store) {
  const receipt = receiptOf({ job: 'a', key })
  const answer = await by.ledger.oneTrip?.claim(holder, by.source(job), claims([key]), receipt)
  if (answer === 'gone' || !answer) return answer
  return [...(answer.checked?.pending.keys() ?? [])]
}

const hinted = (key: string, { fresh = true, due = 'now()', of = 'a' } = {}) =>
  stores.query(`insert into regrow.hints (job, key, due_at, fresh) values ($1, $2, ${due}, $3)`, [of, key, fresh])
const hints = async () => (await stores.query('select key from regrow.hints order by key')).map(({ key }) => key)

test('a hint that was told by name is taken out, its key taken, and checked', async () => {
  for (const key of ['x', 'y', 'z']) await hinted(key)
  expect(await named('w1', 'x')).toEqual(['x'])
  expect(await named('w1', 'z')).toEqual([])
  for (const key of ['x', 'z']) expect(await stores.row(key)).toMatchObject({ holder: 'w1', state: 'running' })
  expect(await hints()).toEqual(['y'])
})

test('of two who are told of a hint, who does not take it out takes nothing', async () => {
  await hinted('x')
  const other = await stores.store()
  await other.prepare({ migrate: false })
  const answers = await Promise.all([named('w1', 'x'), named('w2', 'x', other)])
  expect(answers.sort()).toEqual([['x'], 'gone'].sort())
  // Nor by the word of what it took out before.
  await hinted('y')
  expect(await named('w1', 'y')).toEqual(['y'])
  await store.ledger.settle('w1', outcomes([{ job: 'a', key: 'y', take: Number((await stores.row('y'))?.take) }]))
  expect(await named('w1', 'y')).toBe('gone')
  expect(await stores.row('y')).toBeUndefined()
})

test('a hint of another job, a swept one, or one that is not due is not what was told', async () => {
  await hinted('x', { of: 'b' })
  await hinted('y', { fresh: false })
  await hinted('z', { due: `now() + interval '1 hour'` })
  for (const key of ['x', 'y', 'z']) {
    expect(await named('w1', key)).toBe('gone')
    expect(await stores.row(key)).toBeUndefined()
  }
  expect(await hints()).toEqual(['x', 'y', 'z'])
})

test('where the key is remembered its hint is out, and a take that looks sorts it out', async () => {
  const [failed] = await granted(store, 'w2', claims(['x']))
  await store.ledger.settle('w2', outcomes([failed as Claim], { state: 'retrying', failures: 1, retryMs: 60_000 }))
  await hinted('x')
  expect(await named('w1', 'x')).toBeNull()
  expect(await hints()).toEqual([])
  expect((await store.ledger.take('w1', claims(['x']))).map(({ verdict }) => verdict)).toEqual(['not_due'])
  await hinted('y')
  expect(await named('nobody', 'y')).toBeNull()
  expect(await stores.row('y')).toBeUndefined()
})
