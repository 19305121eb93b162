// Real processes on a real Postgres are killed, stopped and robbed of their hints; the fleet heals.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Fleet, type Told } from '../processes/fleet.ts'

let fleet: Fleet

beforeAll(async () => {
  fleet = await Fleet.open('heal')
})
afterEach(() => fleet.clear())
afterAll(() => fleet.close())

/** True when `count` different keys have been told as started. */
const started = (count: number) => (told: readonly Told[]) =>
  new Set(told.flatMap(({ started }) => (started ? [started] : []))).size === count

test('fifty running jobs of a worker killed with -9 start again within lease + 2 s at the default lease of 15 s', async () => {
  await fleet.fill(50)
  const victim = fleet.start({ mode: 'hold', pool: 4, concurrency: 50 })
  await victim.hears(started(50))
  const heir = fleet.start({ mode: 'hold', pool: 4, concurrency: 50 })
  await heir.ready()
  victim.kill()
  const killedAt = performance.now()
  await heir.hears(started(50))
  const seconds = (performance.now() - killedAt) / 1000
  console.log(`fifty killed jobs started again after ${seconds.toFixed(1)} s`)
  expect(seconds).toBeLessThan(17)
  heir.child.send('release')
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 50, keys: 50 })
}, 60_000)

test('a worker stopped for two leases wakes up, and its results are discarded', async () => {
  await fleet.fill(10)
  const sleeper = fleet.start({ mode: 'hold', pool: 4, lease: '2s' })
  await sleeper.hears(started(10))
  const other = fleet.start({ mode: 'hold', pool: 4, lease: '2s' })
  await other.ready()
  sleeper.signal('SIGSTOP')
  const stoppedAt = performance.now()
  await other.hears((told) => told.some(({ freed }) => freed))
  await other.hears(started(10))
  // Its keys run elsewhere when it wakes up: a late writer meets the claim of another, not an empty place.
  await fleet.client.query(`select pg_sleep($1::float8)`, [Math.max(0, 4 - (performance.now() - stoppedAt) / 1000)])
  sleeper.child.send('release')
  sleeper.signal('SIGCONT')
  await sleeper.hears((told) => told.filter(({ leaseLost }) => leaseLost).length === 10)
  await sleeper.hears((told) => told.some(({ gone }) => gone))
  expect(await fleet.effects()).toEqual({ all: 0, keys: 0 })
  other.child.send('release')
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 10, keys: 10 })
}, 60_000)

test('hints deleted from the queue table while it is worked off run all the same', async () => {
  await fleet.fill(4_000)
  const workers = [1, 2].map(() => fleet.start({ mode: 'one', pool: 4, concurrency: 20 }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const robbed = new Set<string>()
  while ((await fleet.pending()) > 2_000) {
    const { rows } = await fleet.client.query(
      `delete from regrow.hints where (job, key) in (select job, key from regrow.hints limit 300 for update skip locked) returning key`,
    )
    for (const { key } of rows) robbed.add(key)
    await fleet.client.query(`select pg_sleep(0.2)`)
  }
  console.log(`${robbed.size} hints deleted`)
  expect(robbed.size).toBeGreaterThan(0)
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 4_000, keys: 4_000 })
}, 120_000)

test('the queue tables dropped while they are worked off come back, and every row runs', async () => {
  await fleet.fill(1_000)
  const worker = fleet.start({ mode: 'one', pool: 4 })
  await worker.ready()
  while ((await fleet.pending()) > 900) await fleet.client.query(`select pg_sleep(0.02)`)
  await fleet.client.query(`drop table regrow.hints, regrow.canary`)
  expect(await fleet.pending()).toBeGreaterThan(0)
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 1_000, keys: 1_000 })
}, 60_000)
