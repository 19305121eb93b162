// Races of beat and free: with the takes, settles and releases of who lives, who dies, and who has just begun to live.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { executorOf } from '../../src/drivers/postgres/store/opaque.ts'
import { newestSchema, statementsFor } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { Claims } from '../../src/worker/held-claims.ts'
import { claims, granted, keys, leaseMs, outcomes, Stores } from './stores.ts'

const statements = statementsFor(newestSchema)

const seed = Date.now()
const random = new Seeded(seed)
console.log(`race of the living: seed ${seed}`)

let stores: Stores
let one: Store
let two: Store
beforeAll(async () => {
  stores = await Stores.open('race_living')
  ;[one, two] = (await stores.many(2)) as [Store, Store]
})
afterAll(() => stores.close())
beforeEach(async () => {
  await stores.query('truncate regrow.ledger, regrow.workers, regrow.sweeps')
  await stores.worker('alive')
})

/** A dying worker with claims on these keys. */
async function dying(list: readonly string[], holder = 'dying'): Promise<Claim[]> {
  await stores.worker(holder)
  const won = await granted(one, holder, claims(list))
  expect(won.length).toBe(list.length)
  await stores.dies(holder)
  return won
}

test('a settle that waits for a free is discarded: the key is somebody else’s', async () => {
  const [claim] = (await dying(['x'])) as [Claim]
  const client = await stores.client()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const slow = await stores.store(client)
  const settling = await one.transaction(async (tx) => {
    await executorOf(tx).query(statements.workers.free, [leaseMs])
    const late = slow.ledger.settle('dying', outcomes([claim]))
    await stores.blocked(rows[0].pid)
    return { late }
  })
  expect((await settling.late).size).toBe(0)
  expect(await stores.row('x')).toMatchObject({ holder: null, crashes: 1 })
})

test('a free passes over a claim whose transaction is fenced, and that transaction commits with its effect', async () => {
  const [claim] = (await dying(['x', 'y'])) as [Claim]
  await one.transaction(async (tx) => {
    expect((await one.ledger.fence('dying', [claim], tx)).size).toBe(1)
    const { keys: freed } = await two.workers.free(leaseMs)
    expect(freed.map(({ key }) => key)).toEqual(['y'])
    expect((await one.ledger.settle('dying', outcomes([claim]), tx)).size).toBe(1)
  })
  expect(await stores.row('x')).toBeUndefined()
  expect((await two.workers.free(leaseMs)).keys).toEqual([])
})

test('of settle and free, each key has exactly one: settled by its owner, or freed as a crash', async () => {
  let settled = 0
  let freed = 0
  for (let round = 0; round < 25; round++) {
    const list = await dying(keys(60, `r${round}.`), `dying${round}`)
    const parts = [list.slice(0, 20), list.slice(20, 40), list.slice(40)]
    const settles = parts.map((part) => one.ledger.settle(`dying${round}`, outcomes(random.shuffled(part))))
    const frees = [two.workers.free(leaseMs), two.workers.free(leaseMs)]
    const held = new Set((await Promise.all(settles)).flatMap((set) => [...set]))
    const gone = (await Promise.all(frees)).flatMap((answer) => answer.keys.map(({ key }) => key))
    expect(new Set(gone).size, 'no key is freed twice').toBe(gone.length)
    for (const { key, take } of list) {
      const row = await stores.row(key)
      if (held.has(take)) expect([row, gone.includes(key)]).toEqual([undefined, false])
      else expect(row).toMatchObject({ holder: null, crashes: 1 })
    }
    settled += held.size
    freed += gone.length
  }
  console.log(`settle against free: ${settled} settled, ${freed} freed`)
  expect(settled + freed).toBe(25 * 60)
})

test('of release and free, each key has exactly one: given back without a trace, or freed as a crash', async () => {
  for (let round = 0; round < 25; round++) {
    const list = await dying(keys(60, `r${round}.`), `dying${round}`)
    const releasing = one.ledger.release(`dying${round}`, random.shuffled(list))
    const freeing = two.workers.free(leaseMs)
    await releasing
    const gone = new Set((await freeing).keys.map(({ key }) => key))
    for (const { key } of list) {
      const row = await stores.row(key)
      if (gone.has(key)) expect(row).toMatchObject({ holder: null, crashes: 1 })
      else expect(row).toBeUndefined()
    }
  }
})

test('a take of a worker that was declared dead meanwhile is freed by the next free', async () => {
  await stores.worker('dying')
  await stores.dies('dying')
  const list = claims(['x'])
  const won = await stores.held(
    (gated) => granted(gated, 'dying', list),
    async () => {
      expect(await two.workers.free(leaseMs)).toEqual({ workers: 1, keys: [], pardoned: [] })
    },
  )
  expect(won).toEqual(list)
  expect((await one.workers.beat('dying', [], 0, leaseMs)).alive).toBe(false)
  await stores.worker('alive')
  expect((await two.workers.free(leaseMs)).keys).toMatchObject([{ job: 'a', key: 'x' }])
  expect((await granted(two, 'alive', claims(['x']))).length).toBe(1)
})

test('a free that began before a worker registered does not free the keys that this worker took meanwhile', async () => {
  await dying(['x'])
  await one.workers.leave('dying')
  const answer = await stores.held(
    (gated) => gated.workers.free(leaseMs),
    async () => {
      expect((await two.workers.free(leaseMs)).keys).toMatchObject([{ job: 'a', key: 'x' }])
      await stores.worker('new')
      expect((await granted(two, 'new', claims(['x']))).length).toBe(1)
    },
  )
  expect(answer.keys).toEqual([])
  expect(await stores.row('x')).toMatchObject({ holder: 'new' })
})

test('a free does not declare a worker dead whose beat came just before it', async () => {
  await dying(['x'])
  const answer = await stores.held(
    (gated) => gated.workers.free(leaseMs),
    async () => {
      expect((await one.workers.beat('dying', [], 0, leaseMs)).alive).toBe(true)
    },
  )
  expect(answer).toEqual({ workers: 0, keys: [], pardoned: [] })
  expect(await stores.row('x')).toMatchObject({ holder: 'dying' })
})

test('a take that goes out after the list of a beat is not given back by it (M31)', async () => {
  await stores.worker('w1')
  const [old] = (await granted(one, 'w1', claims(['old']))) as [Claim]
  const list = claims(['new'])
  const answer = await stores.held(
    (gated) => gated.workers.beat('w1', [], old.take, leaseMs),
    async () => {
      expect((await granted(one, 'w1', list)).length).toBe(1)
    },
  )
  expect(answer).toEqual({ alive: true, givenBack: 1 })
  expect(await stores.row('old')).toBeUndefined()
  expect(await stores.row('new')).toMatchObject({ holder: 'w1', take: list[0]?.take })
})

test('while a worker takes, settles and beats at once, no claim that it knows is given back', async () => {
  const mine = new Claims({ float: () => 0.5, hex: () => 'busy' })
  await stores.worker(mine.holder)
  let over = false
  const beating = (async () => {
    for (let beats = 0; ; beats++) {
      const { takes, highest } = mine.known()
      const { alive, givenBack } = await two.workers.beat(mine.holder, takes, highest, leaseMs)
      expect([alive, givenBack]).toEqual([true, 0])
      if (over) return beats
    }
  })()
  const working = (lane: number) =>
    (async () => {
      for (let round = 0; round < 60; round++) {
        const list = keys(8, `l${lane}.`).map((key) => ({ job: 'a', key, take: mine.next() }))
        expect((await granted(one, mine.holder, list)).length).toBe(8)
        expect((await one.ledger.settle(mine.holder, outcomes(list))).size).toBe(8)
        for (const { take } of list) mine.forget(take)
      }
    })()
  await Promise.all([0, 1, 2, 3].map(working))
  over = true
  expect(await beating).toBeGreaterThan(20)
})
