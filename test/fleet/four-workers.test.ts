// Four worker processes on one Postgres: everything is done, effects through ctx.tx happen once, in few statements.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fleet } from '../processes/fleet.ts'

/** `REGROW_ROWS=100000`: more of them. */
const rows = Number(process.env.REGROW_ROWS ?? 40_000)

let fleet: Fleet

beforeAll(async () => {
  fleet = await Fleet.open('fleet')
})
afterAll(() => fleet.close())

test(`four processes do ${rows} rows, 5 % of which fail once, each effect once, in under 0.2 statements per row`, async () => {
  await fleet.fill(rows)
  const workers = [1, 2, 3, 4].map(() => fleet.start({ mode: 'many', pool: 4 }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const begun = performance.now()
  await fleet.allDone()
  const seconds = (performance.now() - begun) / 1000
  const statements = (await Promise.all(workers.map((worker) => worker.stop()))).reduce((sum, each) => sum + each, 0)
  console.log(`${rows} rows in ${seconds.toFixed(1)} s, ${(statements / rows).toFixed(3)} statements per row`)
  expect(await fleet.effects()).toEqual({ all: rows, keys: rows })
  expect(await fleet.number(`select count(*) as n from tried`)).toBe(rows / 20)
  expect(await fleet.number(`select count(*) as n from regrow.ledger`)).toBe(0)
  expect(statements / rows).toBeLessThan(0.2)
}, 180_000)
