// Upper arrow on Postgres: pushes of concurrent callers travel together, and each caller learns what became of its own hints.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import type { Hint } from '../../src/queue/hint.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { QueuePlace, StandingClock } from '../services/queue-place.ts'

let place: QueuePlace
beforeAll(async () => {
  place = await QueuePlace.open('pushes')
})
afterAll(() => place.close())
beforeEach(() => place.beside.query(`truncate regrow.hints`))

const hint = (key: string | number, more: Partial<Hint> = {}): Hint => ({
  ...{ job: 'a', key: String(key), delayMs: 0, fresh: true },
  ...more,
})
const many = (from: number, count: number, more: Partial<Hint> = {}) =>
  Array.from({ length: count }, (_, i) => hint(from + i, more))

const there = () =>
  place.rows<{ job: string; key: string; fresh: boolean }>(
    `select job, key, fresh from regrow.hints order by job, key collate "C"`,
  )
const count = async () => (await there()).length

/** Counts what is sent. */
function counted() {
  const sent: string[] = []
  const sends = (db: SqlExecutor): SqlExecutor => ({
    query: (text, params) => {
      sent.push(text)
      return db.query(text, params)
    },
  })
  return { sent, sends }
}

test('a hundred callers with one hint each need a few statements, and each learns of its own', async () => {
  const { sent, sends } = counted()
  const queue = place.queue({}, sends)
  const pushed = await Promise.all(many(0, 100).map((each) => queue.push([each])))
  expect(pushed).toEqual(Array(100).fill({ added: 1, merged: 0, dropped: 0 }))
  expect(await count()).toBe(100)
  // The count of the lane, and two or three batches.
  expect(sent.length).toBeLessThanOrEqual(6)
  const again = await Promise.all(many(50, 100).map((each) => queue.push([each])))
  expect(again.map(({ added, merged }) => `${added}${merged}`).join(' ')).toBe(
    [...Array(50).fill('01'), ...Array(50).fill('10')].join(' '),
  )
  expect(sent.length).toBeLessThanOrEqual(12)
})

test('near the bound each caller learns whether its own hint was dropped', async () => {
  const queue = place.queue({ bounds: { maxHints: 30 } })
  await queue.push(many(0, 5))
  const given = many(0, 60)
  const pushed = await Promise.all(given.map((each) => queue.push([each])))
  const kept = new Set((await there()).map(({ key }) => key))
  expect(kept.size).toBe(30)
  for (const [i, { key }] of given.entries())
    expect(pushed[i], key).toEqual({
      added: 0,
      merged: 0,
      dropped: 0,
      [i < 5 ? 'merged' : kept.has(key) ? 'added' : 'dropped']: 1,
    })
})

test('the same key by two callers at once is one hint, fresh if one of them was, and as soon as the sooner one', async () => {
  const queue = place.queue()
  const pairs: [Hint, Hint][] = [
    [hint('both'), hint('both')],
    [hint('swept first', { fresh: false }), hint('swept first')],
    [hint('fresh first'), hint('fresh first', { fresh: false })],
    [hint('sooner', { delayMs: 3_600_000 }), hint('sooner')],
    [hint('swept is not sooner', { delayMs: 3_600_000 }), hint('swept is not sooner', { fresh: false })],
  ]
  const outcomes = await Promise.all(pairs.flat().map((each) => queue.push([each])))
  expect(outcomes.map(({ added, merged }) => [added, merged])).toEqual(
    pairs.flatMap(() => [
      [1, 0],
      [0, 1],
    ]),
  )
  expect(await there()).toEqual(
    pairs.map(([{ key }]) => ({ job: 'a', key, fresh: true })).sort((a, b) => (a.key < b.key ? -1 : 1)),
  )
  expect(await place.rows(`select key from regrow.hints where due_at > clock_timestamp()`)).toEqual([
    { key: 'swept is not sooner' },
  ])
})

const seed = Number(process.env.REGROW_SEED ?? Math.floor(Math.random() * 2 ** 31))

test(`random callers, jobs, lanes and delays: what they were told adds up to what is there (seed ${seed})`, async () => {
  const seeded = new Seeded(seed)
  const queues = [place.queue(), place.queue()]
  await queues[0]?.push(many(0, 40, { job: 'j0', fresh: false }))
  const before = new Set((await there()).map(({ job, key }) => `${job} ${key}`))
  const calls = Array.from({ length: 150 }, () => {
    const keys = new Set(Array.from({ length: 1 + seeded.below(4) }, () => seeded.below(100)))
    return [...keys].map((key) =>
      hint(key, {
        job: `j${seeded.below(3)}`,
        fresh: seeded.below(2) === 0,
        delayMs: seeded.pick([0, 0, 0, 3_600_000]),
      }),
    )
  })
  // Two processes, and some of their callers at the same moment.
  const told = await Promise.all(calls.map((each) => seeded.pick(queues).push(each)))
  for (const [i, pushed] of told.entries()) expect(pushed.added + pushed.merged).toBe(calls[i]?.length)
  const asked = new Map<string, boolean>([...before].map((name) => [name, false]))
  for (const { job, key, fresh } of calls.flat())
    asked.set(`${job} ${key}`, fresh || (asked.get(`${job} ${key}`) ?? false))
  const rows = await there()
  expect(rows).toHaveLength(asked.size)
  for (const { job, key, fresh } of rows) expect([job, key, fresh]).toEqual([job, key, asked.get(`${job} ${key}`)])
  expect(told.reduce((sum, { added }) => sum + added, 0)).toBe(asked.size - before.size)
})

test('a batch that fails is everybody’s failure who was in it, and nobody else’s', async () => {
  let broken = true
  const queue = place.queue({}, (db) => ({
    query: (text, params) => (broken ? Promise.reject(new Error('no server')) : db.query(text, params)),
  }))
  const told = await Promise.allSettled(many(0, 20).map((each) => queue.push([each])))
  expect(told.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
  broken = false
  expect(await Promise.all(many(0, 20).map((each) => queue.push([each])))).toEqual(
    Array(20).fill({ added: 1, merged: 0, dropped: 0 }),
  )
})

test('a key that another process pushes at this moment is one hint, whoever commits first', async () => {
  const queue = place.queue()
  await place.beside.query(`begin; insert into regrow.hints (job, key, due_at, fresh) values ('a', '7', now(), false)`)
  const pushing = Promise.all(many(5, 5).map((each) => queue.push([each])))
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await place.rows(waits)).length === 0) await place.rows('select pg_sleep(0.005)')
  await place.beside.query('commit')
  expect((await pushing).map(({ added, merged }) => [added, merged])).toEqual([
    [1, 0],
    [1, 0],
    [0, 1],
    [1, 0],
    [1, 0],
  ])
  // The swept one that was there is in front now.
  expect(await there()).toEqual(many(5, 5).map(({ job, key, fresh }) => ({ job, key, fresh })))
})

test('what others pushed is counted within a second, and what was popped makes room (S11)', async () => {
  const clock = new StandingClock()
  const bounds = { maxHints: 4_000 }
  const [queue, other] = [place.queue({ clock, bounds }), place.queue({ bounds })]
  expect(await queue.push(many(0, 1_000))).toMatchObject({ added: 1_000 })
  for (const from of [1_000, 2_000, 3_000]) expect(await other.push(many(from, 1_000))).toMatchObject({ added: 1_000 })
  clock.pass(1_001)
  expect(await queue.push(many(4_000, 1_000))).toEqual({ added: 0, merged: 0, dropped: 1_000 })
  expect(await count()).toBe(4_000)
  await other.pop({ jobs: [{ job: 'a', limit: 2_500 }], limit: 2_500, waitMs: 0 })
  clock.pass(1_001)
  expect(await queue.push(many(4_000, 1_000))).toEqual({ added: 1_000, merged: 0, dropped: 0 })
})

const odd = ['', ' ', 'a\u001eb', '\u001e', '"', '\\', '{a,b}', 'NULL', 'é', '\ue000', '\u{1f600}', 'z\n', '10', '9']

test('keys of any characters come out as they went in', async () => {
  expect(await place.queue().push(odd.map((key) => hint(key)))).toEqual({ added: odd.length, merged: 0, dropped: 0 })
  expect(new Set((await there()).map(({ key }) => key))).toEqual(new Set(odd))
})

test.each(odd)('a key is pushed as it is, also alone: %j', async (key) => {
  expect(await place.queue().push([hint(key)])).toEqual({ added: 1, merged: 0, dropped: 0 })
  expect(await there()).toEqual([{ job: 'a', key, fresh: true }])
})

test(`the same new keys by two processes at once, each in an order of its own, do not lock each other out (M30, seed ${seed})`, async () => {
  const seeded = new Seeded(seed)
  const queues = [place.queue(), place.queue()]
  for (let round = 0; round < 20; round++) {
    // More than travel together with others.
    const keys = many(round * 1_000, 300)
    const pushed = await Promise.all(queues.map((queue) => queue.push(seeded.shuffled(keys))))
    expect(pushed.map(({ added, merged }) => added + merged)).toEqual([300, 300])
    expect(pushed.reduce((sum, { added }) => sum + added, 0)).toBe(300)
    // Or the next pushes look before they write.
    for (let looks = 0; looks < 20; looks++) for (const queue of queues) await queue.push([hint(`${round}.${looks}`)])
  }
})
