// Batches that overlap, in any order of their keys, from eight connections: no deadlock, because every statement takes
// its rows in key order (M30). The same statement without its order deadlocks: that shows that this test could fail.
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sqlState } from '../../src/drivers/postgres/store/errors.ts'
import { newestSchema, statementsFor } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import type { IntentAnswer } from '../../src/store/intents.ts'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { claims, granted, keys, outcomes, Stores } from './stores.ts'

const statements = statementsFor(newestSchema)

/** Nobody dies here, however slow the machine is. */
const leaseMs = 600_000
const seed = Date.now()
const random = new Seeded(seed)
console.log(`deadlocks: seed ${seed}`)

let stores: Stores
let eight: Store[]
beforeAll(async () => {
  stores = await Stores.open('race_deadlock')
  eight = await stores.many(8)
  for (let i = 0; i < 8; i++) await stores.worker(`w${i}`)
})
afterAll(() => stores.close())
beforeEach(() => stores.query('truncate regrow.ledger, regrow.intents'))

type Move = (store: Store, holder: string, mine: Claim[], list: string[]) => Promise<unknown>

const aside = (key: string) => ({
  job: 'a',
  key,
  state: 'retrying' as const,
  version: 'v1',
  failures: 1,
  crashes: 0,
  retryMs: 0,
  error: null,
})

/** Everything that writes many rows of the ledger. */
const moves: readonly Move[] = [
  async (store, holder, mine, list) => mine.push(...(await granted(store, holder, claims(list)))),
  async (store, holder, mine, list) => mine.push(...(await granted(store, holder, claims(list)))),
  (store, holder, mine) => store.ledger.settle(holder, outcomes(random.shuffled(mine.splice(0, 30)))),
  (store, holder, mine) =>
    store.ledger.settle(holder, outcomes(random.shuffled(mine.splice(0, 30)), { state: 'retrying', version: 'v1' })),
  (store, holder, mine) => store.ledger.release(holder, random.shuffled(mine.splice(0, 30))),
  (store, _holder, _mine, list) =>
    store.ledger.clear(
      'a',
      list.map((key) => ({ key, version: `v${random.below(3)}` })),
    ),
  (store, _holder, _mine, list) => store.ledger.remember(list.map(aside)),
  (store, holder, mine) => store.workers.beat(holder, [], mine.splice(0).at(-1)?.take ?? 0, leaseMs),
  (store) => store.workers.free(leaseMs),
]

test('four thousand mixed batches on the same keys, in any order, never deadlock', async () => {
  const all = keys(80)
  let statementsSent = 0
  const play = async (store: Store, holder: string) => {
    const mine: Claim[] = []
    for (let round = 0; round < 500; round++) {
      await random.pick(moves)(store, holder, mine, random.shuffled(all).slice(0, 40))
      statementsSent++
    }
  }
  await Promise.all(eight.map((store, i) => play(store, `w${i}`)))
  expect(statementsSent).toBe(4_000)
})

test('transactions that fence and settle what they hold do not deadlock with takes and frees of the same keys', async () => {
  const all = keys(80)
  const play = async (store: Store, holder: string) => {
    for (let round = 0; round < 40; round++) {
      const won = await granted(store, holder, claims(random.shuffled(all).slice(0, 40)))
      await store.transaction(async (tx) => {
        await store.ledger.fence(holder, random.shuffled(won), tx)
        await store.ledger.settle(holder, outcomes(random.shuffled(won)), tx)
      })
      if (round % 5 === 0) await store.workers.free(leaseMs)
    }
  }
  await Promise.all(eight.map((store, i) => play(store, `w${i}`)))
})

test('intents with the same unique keys, recorded at once in any order, are one each and never deadlock', async () => {
  const all = keys(40, 'u')
  let next = 0
  for (let round = 0; round < 15; round++) {
    await stores.query('truncate regrow.intents')
    const answers = await Promise.all(
      eight.map((store) => {
        const rows = random.shuffled(all).map((uniqueKey) => ({
          id: `0191e8a0-7b6c-7def-8123-${String(++next).padStart(12, '0')}`,
          input: '1',
          inMs: 0,
          atMs: null,
          uniqueKey,
        }))
        // As callers do: who meets a name that is held lets go of its connection and comes again.
        const record = (): Promise<IntentAnswer[]> =>
          store.intents.record('a', rows).catch((error: unknown) => {
            if (store.classify(error) !== 'lock_timeout') throw error
            return record()
          })
        return record()
      }),
    )
    const added = answers.flat().filter((answer) => answer.added)
    expect(added.length).toBe(40)
    const stored = await stores.query('select id::text as id from regrow.intents')
    const ids = new Set(stored.map(({ id }) => id))
    expect(ids.size).toBe(40)
    for (const { heldBy } of answers.flat())
      expect(ids, 'who came second is told an intent that exists').toContain(heldBy)
  }
})

test('the same settle without its order deadlocks: this file can fail', async () => {
  const unsorted = statements.claims.settle.replace('order by key collate "C", job', '')
  expect(unsorted).not.toBe(statements.claims.settle)
  const clients = [await stores.client(), await stores.client()] as [pg.Client, pg.Client]
  const list = keys(1_500)
  let deadlocks = 0
  for (let round = 0; round < 200 && deadlocks === 0; round++) {
    await stores.query('truncate regrow.ledger')
    const won = await granted(eight[0] as Store, 'w0', claims(list))
    const failure = {
      state: 'retrying',
      failures: 1,
      crashes: 0,
      retry_ms: 0,
      version: null,
      error: null,
      finish: null,
    }
    const rows = won.map((claim) => ({ ...claim, ...failure }))
    const orders = [rows, [...rows].reverse()]
    const ends = await Promise.allSettled(
      clients.map((client, i) => client.query(unsorted, ['w0', JSON.stringify(orders[i])])),
    )
    deadlocks += ends.filter((each) => each.status === 'rejected' && sqlState(each.reason) === '40P01').length
  }
  expect(deadlocks).toBeGreaterThan(0)
})
