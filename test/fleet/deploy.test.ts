// Two versions of an app on one queue, with real processes: what one version does not know waits for the other.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DeployResult, deploy } from '../processes/deploy.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let result: DeployResult

beforeAll(async () => {
  database = await freshDatabase('deploy')
  result = await deploy({ url: database.url, sideBySideMs: 1_000, aloneMs: 500, perSecond: 20, leaseMs: 2_000 })
  console.log(JSON.stringify(result))
}, 120_000)
afterAll(() => database.drop())

test('hints of a job whose handler no live worker has wait in the queue, and nobody fails them', () => {
  const { oldAlone, newAlone } = result
  for (const { open, hints, failed } of [oldAlone.audit, oldAlone.invoice, newAlone.legacy]) {
    expect(open).toBeGreaterThan(0)
    expect(hints).toBeGreaterThan(0)
    expect(failed).toBe(0)
  }
})

test('a deploy over a rolling restart, two kills and a step back loses nothing and doubles nothing', () => {
  expect(result).toMatchObject({ lost: 0, doubled: 0, quarantined: 0, claimsLeft: 0, surprises: [] })
  expect(result.fed).toBeGreaterThan(100)
})

test('each version does what it has a handler and a query for', () => {
  const { ship, express, audit, invoice, legacy } = result.effects
  expect(ship.old).toBeGreaterThan(0)
  expect(ship.new).toBeGreaterThan(0)
  expect({ express: express.old, audit: audit.old, invoice: invoice.old, legacy: legacy.new }).toEqual({
    express: 0,
    audit: 0,
    invoice: 0,
    legacy: 0,
  })
})
