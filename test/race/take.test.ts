// Races of the take: with another take, and with the settle of who held the key.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { executorOf } from '../../src/drivers/postgres/store/opaque.ts'
import { newestSchema, statementsFor } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import type { Job } from '../../src/job/job.ts'
import { readJob } from '../../src/job/job.ts'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { Seeded } from '../../src/testing/seeded.ts'
import { claims, granted, keys, outcomes, Stores } from './stores.ts'

const statements = statementsFor(newestSchema)

const seed = Date.now()
const random = new Seeded(seed)
console.log(`race of takes: seed ${seed}`)

let stores: Stores
let eight: Store[]
let job: Job
beforeAll(async () => {
  stores = await Stores.open('race_take')
  eight = await stores.many(8)
  await stores.query(`create table things (id text primary key, state text not null default 'pending')`)
  await stores.query('create table effects (id text not null)')
  const pending = { text: `select id from things where state = 'pending'`, values: [] }
  job = readJob('a', { pending }).job
  for (let i = 0; i < 8; i++) await stores.worker(`w${i}`)
})
afterAll(() => stores.close())
beforeEach(() => stores.query('truncate regrow.ledger, things, effects'))

test('eight who take the same hundred keys at once, in any order, get each key once', async () => {
  for (let round = 0; round < 25; round++) {
    const all = keys(100, `r${round}.`)
    const won = await Promise.all(eight.map((store, i) => granted(store, `w${i}`, claims(random.shuffled(all)))))
    expect(
      won
        .flat()
        .map(({ key }) => key)
        .sort(),
    ).toEqual([...all].sort())
  }
})

test('takes, settles and releases of overlapping keys never grant a key that somebody holds', async () => {
  const all = keys(60)
  const held = new Map<string, string>()
  let grants = 0
  const contest = async (store: Store, holder: string) => {
    for (let round = 0; round < 40; round++) {
      const won = await granted(store, holder, claims(random.shuffled(all).slice(0, 25)))
      for (const { key } of won) {
        expect(held.get(key), `${key} was granted to ${holder} in round ${round}`).toBeUndefined()
        held.set(key, holder)
      }
      grants += won.length
      const ending = random.shuffled(won)
      for (const { key } of ending) held.delete(key)
      if (random.below(2) === 0) await store.ledger.release(holder, ending)
      else expect((await store.ledger.settle(holder, outcomes(ending))).size).toBe(ending.length)
    }
  }
  await Promise.all(eight.map((store, i) => contest(store, `w${i}`)))
  expect(grants).toBeGreaterThan(1_000)
})

test('a take that began before the holder finished is granted, and the check that follows refuses it (M29)', async () => {
  const [store] = eight as [Store]
  await stores.query(`insert into things (id) values ('x')`)
  const [claim] = (await granted(store, 'w0', claims(['x']))) as [Claim]
  const finish = () =>
    store.transaction(async (tx) => {
      await executorOf(tx).query(`update things set state = 'done' where id = 'x'`)
      await store.ledger.settle('w0', outcomes([claim]), tx)
    })
  const snapshot = await stores.client()
  await snapshot.query('begin isolation level repeatable read')
  await snapshot.query('select 1 from things')
  const late = claims(['x'])
  const won = await stores.held((gated) => granted(gated, 'w1', late), finish)
  expect(won, 'this is why a check in the snapshot of the take would be too early').toEqual(late)
  const seen = await snapshot.query(`select id from things where state = 'pending'`)
  expect(seen.rows).toEqual([{ id: 'x' }])
  await snapshot.query('rollback')
  expect((await store.source(job).check(['x'])).pending.size).toBe(0)
})

test('what eight workers take, check and finish in transactions has each effect once', async () => {
  const all = keys(300)
  await stores.query(`insert into things (id) select jsonb_array_elements_text($1::jsonb)`, [JSON.stringify(all)])
  const run = async (store: Store, holder: string) => {
    const source = store.source(job)
    for (let round = 0; round < 30; round++) {
      const won = await granted(store, holder, claims(random.shuffled(all).slice(0, 40)))
      const { pending } = await source.check(won.map(({ key }) => key))
      await store.ledger.release(
        holder,
        won.filter(({ key }) => !pending.has(key)),
      )
      const ready = won.filter(({ key }) => pending.has(key))
      for (let at = 0; at < ready.length; at += 5) {
        const some = ready.slice(at, at + 5)
        const list = JSON.stringify(some.map(({ key }) => key))
        await store.transaction(async (tx) => {
          const { query } = executorOf(tx)
          await query(`insert into effects select jsonb_array_elements_text($1::text::jsonb)`, [list])
          await query(
            `update things set state = 'done' where id in (select jsonb_array_elements_text($1::text::jsonb))`,
            [list],
          )
          expect((await store.ledger.settle(holder, outcomes(some), tx)).size).toBe(some.length)
        })
      }
    }
  }
  await Promise.all(eight.map((store, i) => run(store, `w${i}`)))
  const [effects] = await stores.query('select count(*)::int as all, count(distinct id)::int as keys from effects')
  expect(effects).toEqual({ all: 300, keys: 300 })
})

/** Begins `late` on a connection of its own while `first` is sent but not committed; it must wait for it. */
async function behind<T>(first: (tx: SqlExecutor) => Promise<unknown>, late: (store: Store) => Promise<T>): Promise<T> {
  const client = await stores.client()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const slow = await stores.store(client)
  const { waiting } = await (eight[0] as Store).transaction(async (tx) => {
    await first(executorOf(tx))
    const begun = late(slow)
    await stores.blocked(rows[0].pid)
    return { waiting: begun }
  })
  return waiting
}

test('a take waits for a clear under way, and then starts without the history that was cleared', async () => {
  const [store] = eight as [Store]
  const [claim] = (await granted(store, 'w0', claims(['x']))) as [Claim]
  await store.ledger.settle('w0', outcomes([claim], { state: 'quarantined', failures: 20, version: 'v1' }))
  const rows = JSON.stringify([{ job: 'a', key: 'x', version: 'v2' }])
  const [answer] = await behind(
    (tx) => tx.query(statements.ledger.clearOutdated, [rows]),
    (slow) => slow.ledger.take('w1', claims(['x'])),
  )
  expect([answer?.verdict, answer?.failures]).toEqual(['taken', 0])
})

test('a clear that waits for a take leaves the claim alone', async () => {
  const [store] = eight as [Store]
  const [claim] = (await granted(store, 'w0', claims(['x']))) as [Claim]
  await store.ledger.settle('w0', outcomes([claim], { state: 'retrying', failures: 3, version: 'v1' }))
  const cleared = await behind(
    (tx) => tx.query(statements.claims.take, ['w1', false, '{a}', '{x}', '{1}']),
    (slow) => slow.ledger.clear('a', [{ key: 'x', version: 'v2' }]),
  )
  expect(cleared).toEqual([])
  expect(await stores.row('x')).toMatchObject({ holder: 'w1', failures: 3 })
})
