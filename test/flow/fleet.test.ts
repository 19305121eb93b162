// Four worker processes on one Postgres: everything is done, effects through ctx.tx happen once, in few statements.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fleet } from '../processes/fleet.ts'

let fleet: Fleet

beforeAll(async () => {
  fleet = await Fleet.open('fleet')
})
afterAll(() => fleet.close())

test('four processes do 100,000 rows, 5 % of which fail once, each effect once, in under 0.2 statements per row', async () => {
  await fleet.fill(100_000)
  const workers = [1, 2, 3, 4].map(() => fleet.start({ mode: 'many', pool: 4 }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const begun = performance.now()
  await fleet.allDone()
  const seconds = (performance.now() - begun) / 1000
  const statements = (await Promise.all(workers.map((worker) => worker.stop()))).reduce((sum, each) => sum + each, 0)
  console.log(`100,000 rows in ${seconds.toFixed(1)} s, ${(statements / 100_000).toFixed(3)} statements per row`)
  expect(await fleet.effects()).toEqual({ all: 100_000, keys: 100_000 })
  expect(await fleet.number(`select count(*) as n from tried`)).toBe(5_000)
  expect(await fleet.number(`select count(*) as n from regrow.ledger`)).toBe(0)
  expect(statements / 100_000).toBeLessThan(0.2)
}, 180_000)
