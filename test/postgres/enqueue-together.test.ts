// Single inputs of callers that come at the same time: few statements, and each caller is told its own outcome, after its
// commit. On a real Postgres, through a pool whose statements are counted.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memory } from '../../src/drivers/memory/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type EnqueueResult, regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { seededRandom } from '../sim/seeded-random.ts'

let database: FreshDatabase
let admin: pg.Client
let pool: pg.Pool
let app: App
/** Statements that write intents, as they are sent. */
let writes: string[] = []

beforeAll(async () => {
  database = await freshDatabase('together')
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await operate(regrow({ store: postgres(admin) })).migrate()
})
beforeEach(async () => {
  await admin.query('truncate regrow.intents, regrow.pauses, regrow.hints')
  writes = []
  app = open()
  // What a first use asks is not what is counted.
  await operate(app).status()
})
afterEach(async () => {
  await app.close()
  await pool.end()
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})

function open(queue = memory()): App {
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  pool.on('error', () => {})
  // Each connection as it is made: nothing reaches the server by another way.
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const text = String((args[0] as { text?: string }).text ?? args[0])
      if (text.includes('insert into regrow.intents')) writes.push(text)
      return query(...args)
    }) as never
  })
  return regrow({ store: postgres(pool), queue }) as unknown as App
}
const mail = (name = 'mail.send') => app.job(name, { input: z.object({ to: z.string() }) })
const stored = async (): Promise<{ id: string; job: string; to: string }[]> =>
  (await admin.query(`select id::text as id, job, input ->> 'to' as to from regrow.intents order by id`)).rows
const id = (n: number) => `0191e8a0-7b6c-7def-8123-${String(n).padStart(12, '0')}`
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
const sum = (results: readonly EnqueueResult[], word: EnqueueResult['status']) =>
  results.filter(({ status }) => status === word).length

describe('a hundred callers', () => {
  test('are a handful of statements; each one’s intent is there, with its own input, when it is told so', async () => {
    const job = mail()
    const others = mail('mail.other')
    const seen = await Promise.all(
      numbers(100).map(async (n) => {
        const result = await (n % 4 ? job : others).enqueue({ to: `n${n}` })
        const { rows } = await pool.query(`select job, input ->> 'to' as to from regrow.intents where id = $1`, [
          result.key,
        ])
        return { result, rows }
      }),
    )
    for (const [n, { result, rows }] of seen.entries()) {
      expect(result).toEqual({ key: expect.any(String), status: 'added' })
      expect(rows).toEqual([{ job: n % 4 ? 'mail.send' : 'mail.other', to: `n${n}` }])
    }
    expect(new Set(seen.map(({ result }) => result.key)).size).toBe(100)
    expect(writes.length).toBeLessThanOrEqual(4)
  })

  test('who wait for a store that goes away all fail, and it is not asked for each of them', async () => {
    const job = mail()
    await admin.query('begin; lock table regrow.intents in share mode')
    const ends = Promise.allSettled(numbers(100).map((n) => job.enqueue({ to: `n${n}` })))
    await waiting(1)
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    for (const end of await ends)
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'store_away', cause: { code: '57P01' } } })
    expect(writes).toHaveLength(1)
    await admin.query('commit')
    expect(await stored()).toEqual([])
    expect(await job.enqueue({ to: 'later' })).toMatchObject({ status: 'added' })
  })

  test('of a paused job are stored, and told that they are held', async () => {
    const job = mail()
    await app.pause('mail.send', { reason: 'a test' })
    const results = await Promise.all(numbers(100).map((n) => job.enqueue({ to: `n${n}` })))
    expect([sum(results, 'held'), sum(results, 'added')]).toEqual([100, 0])
    expect(await stored()).toHaveLength(100)
    expect(writes.length).toBeLessThanOrEqual(4)
  })

  test('learn of a queue that is full whether it took their own hint', async () => {
    await app.close()
    await pool.end()
    app = open(memory({ maxHints: 30 }))
    const job = mail()
    const results = await Promise.all(numbers(100).map((n) => job.enqueue({ to: `n${n}` })))
    expect([sum(results, 'added'), sum(results, 'dropped')]).toEqual([30, 70])
    const again = await Promise.all(results.map(({ key }) => job.enqueue({ to: 'x' }, { id: key })))
    for (const [n, { status }] of again.entries())
      expect(status).toBe(results[n]?.status === 'added' ? 'merged' : 'dropped')
  })

  test('spread by `in` and `at` are stored with their own times', async () => {
    const job = mail()
    const at = new Date('2040-01-01T00:00:00Z')
    const choices = [{}, { in: '1h' }, { at }] as const
    await Promise.all(numbers(60).map((n) => job.enqueue({ to: `${n % 3}` }, choices[n % 3])))
    const { rows } = await admin.query(`
      select input ->> 'to' as to, count(*)::int as count, bool_and(run_at is null) as now,
        bool_and(run_at between created_at + interval '59 min' and created_at + interval '61 min') as in_an_hour,
        bool_and(run_at = '2040-01-01T00:00:00Z') as at from regrow.intents group by 1 order by 1`)
    expect(rows).toEqual([
      { to: '0', count: 20, now: true, in_an_hour: null, at: null },
      { to: '1', count: 20, now: false, in_an_hour: true, at: false },
      { to: '2', count: 20, now: false, in_an_hour: false, at: true },
    ])
    expect(writes.length).toBeLessThanOrEqual(4)
  })
})

describe('what one caller gave', () => {
  test('the same id at once is one intent: one is told added, the others merged, all of them the key', async () => {
    const job = mail()
    const results = await Promise.all(numbers(40).map((n) => job.enqueue({ to: `n${n}` }, n % 4 ? {} : { id: id(1) })))
    const same = results.filter((_, n) => n % 4 === 0)
    expect([sum(same, 'added'), sum(same, 'merged')]).toEqual([1, 9])
    expect(new Set(same.map(({ key }) => key))).toEqual(new Set([id(1)]))
    expect(sum(results, 'added')).toBe(31)
    const winner = same.findIndex(({ status }) => status === 'added')
    expect((await stored()).find((row) => row.id === id(1))?.to).toBe(`n${winner * 4}`)
  })

  test('the same unique key at once is one intent: the others are told whose it is', async () => {
    const job = mail()
    const results = await Promise.all(
      numbers(40).map((n) => job.enqueue({ to: `n${n}` }, n % 4 ? {} : { unique: 'ada' })),
    )
    const same = results.filter((_, n) => n % 4 === 0)
    expect([sum(same, 'added'), sum(same, 'merged')]).toEqual([1, 9])
    expect(new Set(same.map(({ key }) => key)).size).toBe(1)
    const winner = same.findIndex(({ status }) => status === 'added')
    expect((await stored()).find((row) => row.id === same[0]?.key)?.to).toBe(`n${winner * 4}`)
    expect(await stored()).toHaveLength(31)
  })

  test('an id of another job’s intent is refused to its own caller; the others are told that they were added', async () => {
    await mail('mail.other').enqueue({ to: 'first' }, { id: id(1) })
    const job = mail()
    const ends = await Promise.allSettled(
      numbers(30).map((n) => job.enqueue({ to: `n${n}` }, n === 7 ? { id: id(1) } : {})),
    )
    expect(ends[7]).toMatchObject({ reason: { code: 'id_in_use' } })
    for (const end of ends.filter((_, n) => n !== 7)) expect(end).toMatchObject({ value: { status: 'added' } })
    expect((await stored()).filter((row) => row.job === 'mail.send')).toHaveLength(29)
  })

  test('a row that the store refuses fails its own caller; the others are stored once, and told so', async () => {
    const job = mail()
    await admin.query(`alter table regrow.intents add constraint not_to_eve check (input ->> 'to' <> 'eve')`)
    try {
      const ends = await Promise.allSettled(numbers(50).map((n) => job.enqueue({ to: n === 31 ? 'eve' : `n${n}` })))
      expect(ends[31]).toMatchObject({ status: 'rejected', reason: { code: '23514' } })
      for (const end of ends.filter((_, n) => n !== 31)) expect(end).toMatchObject({ value: { status: 'added' } })
      expect((await stored()).map(({ to }) => to).sort()).toEqual(
        numbers(50)
          .filter((n) => n !== 31)
          .map((n) => `n${n}`)
          .sort(),
      )
    } finally {
      await admin.query('alter table regrow.intents drop constraint not_to_eve')
    }
  })

  test('with { tx } it goes alone, in its transaction, and is gone with it', async () => {
    const job = mail()
    const outside: Promise<EnqueueResult>[] = []
    const lent: string[] = []
    const rolledBack = app.transaction(async (tx) => {
      for (const n of numbers(5)) {
        outside.push(job.enqueue({ to: `out ${n}` }))
        const counted = {
          query: (text: string, params?: readonly unknown[]) => {
            lent.push(text)
            return tx.query(text, params as never)
          },
        }
        await job.enqueue({ to: `in ${n}` }, { tx: counted })
      }
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(sum(await Promise.all(outside), 'added')).toBe(5)
    expect(lent).toHaveLength(5)
    expect((await stored()).map(({ to }) => to).sort()).toEqual(numbers(5).map((n) => `out ${n}`))
  })
})

test('whatever ids and unique keys come at once, those who are told added are those whose intents are there', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.float() * n)
  const job = mail()
  for (let round = 0; round < 5; round++) {
    await admin.query('truncate regrow.intents')
    const calls = numbers(120).map((n) => ({
      to: `n${n}`,
      ...(below(3) === 0 ? { id: id(below(12)) } : {}),
      ...(below(3) === 0 ? { unique: `u${below(6)}` } : {}),
    }))
    const results = await Promise.all(calls.map(({ to, ...choice }) => job.enqueue({ to }, choice)))
    const rows = await stored()
    const told = results.flatMap(({ key, status }, n) => (status === 'added' ? [`${key} ${calls[n]?.to}`] : []))
    expect(told.sort()).toEqual(rows.map((row) => `${row.id} ${row.to}`))
    const there = new Set(rows.map((row) => row.id))
    for (const { key, status } of results) {
      expect(['added', 'merged']).toContain(status)
      expect(there).toContain(key)
    }
    for (const name of new Set(calls.flatMap(({ unique }) => unique ?? []))) {
      const holders = new Set(
        results.flatMap(({ key }, n) => (calls[n]?.unique === name && calls[n]?.id === undefined ? [key] : [])),
      )
      expect(holders.size).toBeLessThanOrEqual(1)
    }
  }
})

/** Resolves when so many statements of this database wait for a lock. */
async function waiting(count: number): Promise<void> {
  for (;;) {
    const { rows } = await admin.query(
      `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    if (rows[0].n >= count) return
  }
}
