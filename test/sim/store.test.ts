// The simulated database by itself: what its journal, locks, rollbacks and restarts do. That its answers are those of the
// real store is for test/sim/agreement to say.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Claim, SettleRow } from '../../src/store/ledger.ts'
import { type Change, SimDatabase } from './store/database.ts'

let now = Date.UTC(2026, 0, 1)
let db: SimDatabase
let changes: Change[]
const leaseMs = 15_000

beforeEach(async () => {
  now = Date.UTC(2026, 0, 1)
  db = new SimDatabase(() => now, new Map())
  changes = []
  await register('w')
  db.watch = (change) => changes.push(change)
})

const register = (holder: string) =>
  db.store().workers.register({ holder, host: 'h', pid: 1, jobs: { a: 'x' } }, leaseMs)

const claim = (key: string, take: number): Claim => ({ job: 'a', key, take })

const done = (of: Claim): SettleRow => ({
  ...of,
  state: 'done',
  version: null,
  failures: 0,
  crashes: 0,
  retryMs: 0,
  error: null,
  finish: null,
})

const keys = () => [...db.ledger.values()].map(({ key }) => key)

/** Whether a promise is settled once everything that could run has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const mark = () => {
    settled = true
  }
  promise.then(mark, mark)
  await new Promise(setImmediate)
  return settled
}

describe('transactions', () => {
  test('what a transaction writes is seen by others after its commit, and by itself before', async () => {
    const tx = db.begin()
    await tx.put('t', '1', { n: 1 })
    expect(await tx.get('t', '1')).toEqual({ n: 1 })
    expect(await db.app.get('t', '1')).toBeUndefined()
    expect(changes).toEqual([])
    await tx.commit()
    expect(await db.app.get('t', '1')).toEqual({ n: 1 })
    expect(changes).toMatchObject([
      { table: 't', id: '1', before: undefined, after: { n: 1 }, statement: 'transaction' },
    ])
  })

  test('what the function of a transaction throws takes back its effects and its settle', async () => {
    const store = db.store()
    await store.ledger.take('w', [claim('1', 1)])
    const thrown = store.transaction(async (tx, own) => {
      await own.put('t', '1', { n: 1 })
      await store.ledger.settle('w', [done(claim('1', 1))], tx)
      throw new Error('no')
    })
    await expect(thrown).rejects.toThrow('no')
    expect(db.rows('t').size).toBe(0)
    expect(db.ledger.get('a\u00001')).toMatchObject({ holder: 'w', take: 1 })
  })

  test('after a killed transaction nothing of it is left, and its commit fails as the server fails it', async () => {
    const tx = db.begin()
    await tx.put('t', '1', { n: 1 })
    db.kill(tx)
    await expect(tx.get('t', '1')).rejects.toMatchObject({ code: '57P01' })
    await expect(tx.commit()).rejects.toMatchObject({ code: '57P01' })
    await db.app.put('t', '1', { n: 2 })
    expect(db.rows('t').get('1')).toEqual({ n: 2 })
  })

  test('a transaction is found through any number of wrappers', async () => {
    const wrap = <T extends object>(of: T): T => new Proxy(of, { get: (target, name) => Reflect.get(target, name) })
    const store = db.store()
    await store.ledger.take('w', [claim('1', 1)])
    const held = await store.transaction((tx) => store.ledger.settle('w', [done(claim('1', 1))], wrap(wrap(tx))))
    expect(held).toEqual(new Set([1]))
    expect(keys()).toEqual([])
  })
})

describe('locks', () => {
  test('a take waits for a settle in an open transaction, and gets the key once that commits', async () => {
    const store = db.store()
    await register('v')
    await store.ledger.take('w', [claim('1', 1)])
    let commit = () => {}
    const open = store.transaction(async (tx) => {
      await store.ledger.settle('w', [done(claim('1', 1))], tx)
      await new Promise<void>((resolve) => {
        commit = resolve
      })
    })
    await new Promise(setImmediate)
    const taken = store.ledger.take('v', [claim('1', 2)])
    expect(await isSettled(taken)).toBe(false)
    commit()
    await open
    expect(await taken).toMatchObject([{ verdict: 'taken' }])
    expect(db.ledger.get('a\u00001')).toMatchObject({ holder: 'v', take: 2 })
  })

  test('a beat and a free skip a claim that a transaction has fenced', async () => {
    const store = db.store()
    await store.ledger.take('w', [claim('1', 1), claim('2', 2)])
    await store.transaction(async (tx) => {
      await store.ledger.fence('w', [claim('1', 1)], tx)
      expect(await store.workers.beat('w', [], 5, leaseMs)).toEqual({ alive: true, givenBack: 1 })
      expect((await store.workers.free(-1)).keys).toEqual([])
    })
    expect(keys()).toEqual(['1'])
  })

  test('of two that wait for each other one gets a deadlock, and the other goes on', async () => {
    const [a, b] = [db.begin(), db.begin()]
    await a.put('t', '1', { by: 'a' })
    await b.put('t', '2', { by: 'b' })
    const waits = a.put('t', '2', { by: 'a' })
    expect(await isSettled(waits)).toBe(false)
    await expect(b.put('t', '1', { by: 'b' })).rejects.toMatchObject({ code: '40P01' })
    await expect(b.commit()).rejects.toMatchObject({ code: 'rolled_back' })
    await waits
    await a.commit()
    expect([...db.rows('t').values()]).toEqual([{ by: 'a' }, { by: 'a' }])
  })

  test('those who wait for a row get it in their order, one after another', async () => {
    const first = db.begin()
    await first.put('t', '1', { n: 0 })
    const others = [1, 2, 3].map((n) => db.app.put('t', '1', { n }))
    expect(await isSettled(others[0] as Promise<unknown>)).toBe(false)
    await first.commit()
    await Promise.all(others)
    expect(changes.map(({ after }) => after?.n)).toEqual([0, 1, 2, 3])
  })

  test('a killed transaction that waits for a lock fails at once', async () => {
    const [a, b] = [db.begin(), db.begin()]
    await a.put('t', '1', { n: 1 })
    const waits = b.put('t', '1', { n: 2 })
    db.kill(b)
    await expect(waits).rejects.toMatchObject({ code: '57P01' })
    await a.commit()
    expect(db.rows('t').get('1')).toEqual({ n: 1 })
  })

  test('a transaction that is given up while a statement of it waits leaves the row to the next in line', async () => {
    const holds = db.begin()
    await holds.put('t', '1', { n: 1 })
    const givenUp = db.store().transaction(async (_, own) => {
      own.put('t', '1', { n: 2 }).catch(() => {})
      throw new Error('its deadline')
    })
    await expect(givenUp).rejects.toThrow('its deadline')
    const next = db.app.put('t', '1', { n: 3 })
    await holds.commit()
    expect(await isSettled(next)).toBe(true)
    expect(db.rows('t').get('1')).toEqual({ n: 3 })
  })

  test('an intent whose unique key another transaction is writing waits for its end', async () => {
    const store = db.store()
    const intent = (n: number) => ({
      id: `00000000-0000-4000-8000-00000000000${n}`,
      input: '{}',
      inMs: 0,
      atMs: null,
      uniqueKey: 'u',
    })
    const tx = db.begin()
    await store.intents.record('a', [intent(1)], tx as never)
    const second = store.intents.record('a', [intent(2)])
    expect(await isSettled(second)).toBe(false)
    await tx.commit()
    expect(await second).toMatchObject([{ id: intent(2).id, added: false, heldBy: intent(1).id }])
  })
})

describe('restart', () => {
  test('takes back the newest asynchronous commits, and none that a durable one came after', async () => {
    const store = db.store()
    await store.ledger.take('w', [claim('1', 1)])
    await db.app.put('t', '1', { n: 1 })
    await store.ledger.take('w', [claim('2', 2)])
    await store.ledger.take('w', [claim('3', 3)])
    expect(db.restart((commits) => commits - 1)).toBe(1)
    expect(keys()).toEqual(['1', '2'])
    expect(changes.at(-1)).toMatchObject({ table: 'ledger', statement: 'restart', after: undefined })
    expect(db.restart(() => 10)).toBe(0)
  })

  test('after the wal writer came by nothing is lost', async () => {
    await db.store().ledger.take('w', [claim('1', 1)])
    db.flush()
    expect(db.restart((commits) => commits)).toBe(0)
    expect(keys()).toEqual(['1'])
  })

  test('a release that is lost leaves the claim where it was, with its index', async () => {
    const store = db.store()
    await store.ledger.take('w', [claim('1', 1)])
    db.flush()
    await store.ledger.release('w', [claim('1', 1)])
    expect(db.restart((commits) => commits)).toBe(1)
    expect(await store.workers.beat('w', [], 5, leaseMs)).toEqual({ alive: true, givenBack: 1 })
  })

  test('kills open transactions, and statements that wait', async () => {
    const tx = db.begin()
    await tx.put('t', '1', { n: 1 })
    const waits = db.app.put('t', '1', { n: 2 })
    db.restart(() => 0)
    await expect(waits).rejects.toMatchObject({ code: '57P01' })
    await expect(tx.commit()).rejects.toMatchObject({ code: '57P01' })
    expect(db.rows('t').size).toBe(0)
    await db.app.put('t', '1', { n: 3 })
  })
})
