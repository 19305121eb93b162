// Where work comes from: queries of any builder, functions, sources of one's own, keys of every type; and what is refused.

import { eq, lte, sql as raw } from 'drizzle-orm'
import { bigint as pgBigint, pgTable, text as pgText, timestamp } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pglite'
import fc from 'fast-check'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { App, PendingRow } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`
    create table things (id text primary key, state text not null default 'pending', due timestamptz, at timestamp, n numeric, payload jsonb);
    create table numbers (id bigint primary key, small int not null default 1, state text not null default 'pending');
    create table pairs (tenant uuid, name text, n bigint, state text not null default 'pending', primary key (tenant, name, n))`)

const finish = (table: string, id: unknown) => world.query(`update ${table} set state = 'done' where id = $1`, [id])

/** Runs until `count` keys are done; returns what the handler was given. */
async function drained(declare: (app: App, ran: unknown[]) => unknown, count: number): Promise<unknown[]> {
  const { app, ear } = world.app()
  const ran: unknown[] = []
  declare(app, ran)
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === count, 30_000)
  await world.pass(3_000)
  expect(ear.of('job.no_progress')).toEqual([])
  expect(ear.of('sweep.failed')).toEqual([])
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
  return ran
}

describe('queries of a builder', () => {
  const things = pgTable('things', {
    id: pgText('id').primaryKey(),
    state: pgText('state').notNull(),
    due: timestamp('due', { withTimezone: true }),
  })
  const numbers = pgTable('numbers', {
    id: pgBigint('id', { mode: 'bigint' }).primaryKey(),
    state: pgText('state').notNull(),
  })
  const kysely = new Kysely<{ things: { id: string; state: string } }>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })

  test('a Drizzle query is pending', async () => {
    await world.db.exec(`insert into numbers (id, state) values (1, 'pending'), (2, 'done'), (3, 'pending')`)
    const ran = await drained((app, all) => {
      app.job('drizzle', {
        key: 'bigint',
        pending: drizzle(world.db).select({ id: numbers.id }).from(numbers).where(eq(numbers.state, 'pending')),
        run: (id) => finish('numbers', id).then(() => all.push(id)),
      })
    }, 2)
    expect(ran.sort()).toEqual([1n, 3n])
  })

  test('a Kysely query is pending', async () => {
    await world.db.exec(`insert into things (id, state) values ('a', 'pending'), ('b', 'done')`)
    const ran = await drained((app, all) => {
      app.job('kysely', {
        pending: kysely.selectFrom('things').select('id').where('state', '=', 'pending'),
        run: (id) => finish('things', id).then(() => all.push(id)),
      })
    }, 1)
    expect(ran).toEqual(['a'])
  })

  test('lists in a pending query and in ctx.tx are parameters', async () => {
    await world.db.exec(
      `insert into numbers (id, small, state) values (1, 1, 'new'), (2, 2, 'old'), (3, 3, 'new'), (4, 9, 'new')`,
    )
    const ran = await drained((app, all) => {
      app.job('listed', {
        key: 'bigint',
        pending: sql`select id from numbers where state = any(${sql.array(['new', 'newer'])}) and small in ${sql.in([1, 2, 3])}`,
        async run(id, ctx) {
          await ctx.tx(sql`update numbers set state = 'done' where id = any(${sql.array([id])})`)
          all.push(id)
        },
      })
    }, 2)
    expect(ran.sort()).toEqual([1n, 3n])
    expect(await world.query(`select id::int as id from numbers where state = 'done' order by id`)).toEqual([
      { id: 1 },
      { id: 3 },
    ])
  })

  test('a function is asked each time, so a date in it moves on', async () => {
    await world.db.exec(`insert into things (id, due) values ('late', '2026-01-01 00:00:10+00')`)
    const { app, ear } = world.app()
    app.job('moving', {
      pending: () =>
        drizzle(world.db)
          .select({ id: things.id })
          .from(things)
          .where(raw`${lte(things.due, new Date(world.clock.wall()))} and ${eq(things.state, 'pending')}`),
      sweep: { every: '3s' },
      run: (id) => finish('things', id),
    })
    await world.work(app)
    await world.until(() => ear.of('job.settled').length === 1, 20_000)
    expect(ear.times('job.started')[0]).toBeGreaterThanOrEqual(9_900)
  })
})

describe('a source of one’s own', () => {
  /** Truth outside SQL: rows in memory. */
  function outside() {
    const rows = new Map<bigint, { version: string | null; runAt: Date | null }>()
    const row = (key: bigint): PendingRow<bigint>[] => {
      const found = rows.get(key)
      return found ? [{ key, ...found }] : []
    }
    const calls = { after: [] as (bigint | null)[], asked: 0 }
    return {
      rows,
      calls,
      async page(after: bigint | null, limit: number) {
        calls.after.push(after)
        const keys = [...rows.keys()].sort((a, b) => (a < b ? -1 : 1)).filter((key) => after === null || key > after)
        return keys.slice(0, limit).flatMap(row)
      },
      async isPending(keys: readonly bigint[]) {
        calls.asked++
        return keys.flatMap(row)
      },
    }
  }

  test('is swept, checked and run; enqueue and the loss of the queue are as with any other', async () => {
    const truth = outside()
    truth.rows.set(9007199254740993n, { version: null, runAt: null })
    truth.rows.set(2n, { version: null, runAt: null })
    const { app, queue, ear } = world.app()
    const job = app.job('outside', {
      key: 'bigint',
      pending: truth,
      sweep: { every: '5s' },
      run: (key) => void truth.rows.delete(key),
    })
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2, 1_000)
    truth.rows.set(3n, { version: null, runAt: null })
    await job.enqueue(3n)
    await world.until(() => ear.of('job.settled', { key: '3' }).length === 1, 100)
    truth.rows.set(4n, { version: null, runAt: null })
    await job.enqueue(4n, { jitter: ['1h', '2h'] })
    await queue.wipe()
    await world.until(() => ear.of('job.settled', { key: '4' }).length === 1, 7_000)
    expect(truth.calls.asked).toBeGreaterThan(2)
  })

  test('with a version, a time and pages', async () => {
    const truth = outside()
    for (let n = 1n; n <= 10_002n; n++) truth.rows.set(n, { version: '1', runAt: new Date(Date.UTC(2030, 0)) })
    truth.rows.set(10_003n, { version: '1', runAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 3)) })
    const { app, ear } = world.app()
    let broken = true
    app.job('outside', {
      key: 'bigint',
      pending: truth,
      sweep: { every: '5s' },
      retry: { attempts: 1 },
      run(key) {
        if (broken) throw new Error('version 1 is broken')
        truth.rows.delete(key)
      },
    })
    await world.work(app)
    expect(truth.calls.after.slice(0, 2)).toEqual([null, 10_000n])
    await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
    expect(ear.times('job.started')).toEqual([2_900])
    broken = false
    await world.pass(12_000)
    expect(ear.of('job.started')).toHaveLength(1)
    expect(ear.of('hint.refused')).toEqual([])
    truth.rows.set(10_003n, { version: '2', runAt: null })
    await world.until(() => ear.of('job.settled', { state: 'done', key: '10003' }).length === 1, 7_000)
  })

  test('that fails stops only its own job', async () => {
    const { app, ear } = world.app()
    app.job('outside', {
      pending: {
        page: () => Promise.reject(new Error('the other system is down')),
        isPending: () => Promise.reject(new Error('the other system is down')),
      },
      sweep: { every: '2s' },
      run() {},
    })
    app.job('things', {
      pending: sql`select id from things where state = 'pending'`,
      sweep: { every: '2s' },
      run: (id) => finish('things', id),
    })
    await world.work(app)
    await world.db.exec(`insert into things (id) values ('a')`)
    await world.until(() => ear.of('job.settled', { job: 'things' }).length === 1, 5_000)
    expect(ear.of('sweep.failed', { job: 'outside' }).length).toBeGreaterThan(0)
  })
})

describe('a source of one’s own that answers wrongly is named, with what it answered and what it should:', () => {
  const wrong: [what: string, page: unknown, sentence: RegExp][] = [
    [
      'no array',
      () => ({ rows: [] }),
      /^Job "outside": page\(\) of its source answered an object, expected an array of { key, version\?, runAt\? }\s+→ Answer an array/,
    ],
    ['nothing', () => undefined, /page\(\) of its source answered undefined, expected an array/],
    [
      'keys instead of rows',
      () => ['a', 'b'],
      /page\(\) of its source answered a row that is a string, expected { key, version\?, runAt\? }.*=> \({ key/s,
    ],
    ['rows without a key', () => [{ id: 'a' }], /answered a row without `key`: it has "id".*=> \({ key/s],
    [
      'a key of another type',
      () => [{ key: 5 }],
      /answered a row with a bad `key`: Expected a key of type text, found 5/,
    ],
    [
      'a version that is none',
      () => [{ key: 'a', version: {} }],
      /row "a" whose `version` is an object, expected a text/,
    ],
    [
      'a time that is none',
      () => [{ key: 'a', runAt: '2030-01-01' }],
      /row "a" whose `runAt` is a string, expected a Date or null/,
    ],
    [
      'the same page again',
      (_: unknown, limit: number) =>
        Array.from({ length: limit }, (_, i) => ({ key: `k${String(i).padStart(5, '0')}` })),
      /page\(\) of its source ended with "k0*\d+" again.*Begin after `after`/s,
    ],
    [
      'an error of its own',
      () => (undefined as never as { rows: [] }).rows,
      /^Job "outside": page\(\) of its source threw: TypeError: Cannot read properties of undefined/,
    ],
  ]
  test.each(wrong)('page: %s', async (_, page, sentence) => {
    const { app } = world.app()
    app.job('outside', {
      pending: {
        page: async (...args: never[]) => (page as (...args: never[]) => never)(...args),
        isPending: async () => [],
      },
    })
    const [report] = await operate(app).sweep({ jobs: ['outside'], dryRun: true })
    expect(report?.error).toMatch(sentence)
  })

  test.each<[string, unknown, RegExp]>([
    ['true', true, /isPending\(\) of its source answered a boolean, expected an array/],
    ['keys', ['a'], /isPending\(\) of its source answered a row that is a string/],
    ['a time that is none', [{ key: 'a', runAt: 1 }], /whose `runAt` is a number, expected a Date or null/],
  ])('isPending: %s', async (_, answer, sentence) => {
    const { app, ear } = world.app()
    const job = app.job('outside', {
      pending: { page: async () => [], isPending: async () => answer as never },
      run() {},
    })
    await world.work(app)
    await job.enqueue('a')
    await world.until(() => ear.of('job.settled', { job: 'outside', state: 'retrying' }).length > 0)
    expect(ear.of('job.settled', { job: 'outside' })[0]?.error).toMatch(sentence)
    expect(ear.of('job.started')).toEqual([])
  })

  test('rows without a key among others are left out, and health and the log say why', async () => {
    const lines: string[] = []
    const { app, ear } = world.app({ log: ({ message }) => void lines.push(message) })
    const rows = [{ key: 'a' }, { id: 'b' }, { key: 'c' }] as { key: string }[]
    const page = async (after: string | null) => (after === null ? rows : [])
    app.job('outside', { pending: { page, isPending: async () => [] }, run() {} })
    await world.work(app)
    await world.until(() => ear.of('sweep.passed').length === 1)
    expect(ear.of('sweep.passed')[0]).toMatchObject({ seen: 3, unusable: 1 })
    const why = 'a row without `key`: it has "id"'
    expect(lines).toEqual([`outside: 1 row can never run: ${why}`])
    const { findings } = await operate(app).health()
    expect(findings).toMatchObject([{ code: 'key_unusable', message: `outside: 1 row can never run: ${why}` }])
    expect(findings[0]?.hint).not.toContain('octet_length')
  })
})

test('rows whose key is too long are a line of the worker, once per interval', async () => {
  const lines: string[] = []
  const { app, ear } = world.app({ log: ({ message }) => void lines.push(message) })
  await world.db.exec(`insert into things (id) select repeat(n::text, 1100) from generate_series(1, 3) n`)
  app.job('things', { pending: sql`select id from things where state = 'pending'`, sweep: { every: '2s' }, run() {} })
  await world.work(app)
  await world.until(() => ear.of('sweep.passed').length >= 4)
  expect(lines).toEqual([
    expect.stringMatching(
      /^things: 3 rows can never run: a key may have 1024 bytes, and this one has more: "(\d)\1{59}…"$/,
    ),
  ])
})

describe('keys of every type go through hint, ledger, check and handler and come out as they went in', () => {
  const hostile = [
    '',
    ' ',
    "it's",
    '"quoted"',
    '\\',
    'a\\u0041',
    '{}',
    '[1]',
    'null',
    'Ä😀',
    '\u2028\n\t\u0001',
    '%s $1 ?',
    'x'.repeat(1_024),
  ]

  test('text', async () => {
    await world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(hostile)])
    const ran = await drained((app, all) => {
      const job = app.job('text', {
        pending: sql`select id from things where state = 'pending'`,
        run: (id) => finish('things', id).then(() => all.push(id)),
      })
      void job.enqueueMany(hostile)
    }, hostile.length)
    expect(ran.sort()).toEqual([...hostile].sort())
  })

  test('bigint to the last of its 64 bits', async () => {
    const ids = [-(2n ** 63n), -1n, 0n, 9007199254740993n, 2n ** 63n - 1n]
    await world.query(`insert into numbers (id) select x::bigint from jsonb_array_elements_text($1) x`, [
      JSON.stringify(ids.map(String)),
    ])
    const ran = await drained((app, all) => {
      app.job('bigint', {
        key: 'bigint',
        pending: sql`select id from numbers where state = 'pending'`,
        run: (id) => finish('numbers', id).then(() => all.push(id)),
      })
    }, ids.length)
    expect(ran).toEqual(expect.arrayContaining(ids))
    expect(ran).toHaveLength(ids.length)
  })

  test('a smaller integer column fits a bigint key, and a varchar a text key', async () => {
    await world.db.exec(`insert into numbers (id, small) values (7, 7)`)
    const ran = await drained((app, all) => {
      app.job('small', {
        key: 'bigint',
        pending: sql`select small from numbers where state = 'pending'`,
        run: (id) => finish('numbers', id).then(() => all.push(id)),
      })
    }, 1)
    expect(ran).toEqual([7n])
  })

  test('composite', async () => {
    const tenants = ['0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', 'ffffffff-ffff-4fff-8fff-ffffffffffff']
    const seed = 20_260_101
    const names = fc.sample(
      fc.string({ unit: 'binary', maxLength: 40 }).filter((name) => !name.includes('\0') && name.isWellFormed()),
      { numRuns: 60, seed },
    )
    const keys = [...new Set([...hostile.filter((name) => name.length < 900), ...names])].map((name, i) => ({
      tenant: tenants[i % 2] as string,
      name,
      n: i % 3 === 0 ? 2n ** 63n - 1n : BigInt(-i),
    }))
    await world.query(
      `insert into pairs (tenant, name, n) select (x ->> 'tenant')::uuid, x ->> 'name', (x ->> 'n')::bigint from jsonb_array_elements($1) x`,
      [JSON.stringify(keys.map((key) => ({ ...key, n: String(key.n) })))],
    )
    // Half are enqueued, half are swept: both ways make the same text of a key.
    const ran = await drained((app, all) => {
      const job = app.job('pair', {
        key: { tenant: 'uuid', name: 'text', n: 'bigint' },
        pending: sql`select n, tenant, name from pairs where state = 'pending'`,
        run: (key) =>
          world
            .query(`update pairs set state = 'done' where tenant = $1 and name = $2 and n = $3`, [
              key.tenant,
              key.name,
              key.n,
            ])
            .then(() => all.push(key)),
      })
      void job.enqueueMany(
        keys.filter((_, i) => i % 2 === 0).map((key) => ({ ...key, tenant: key.tenant.toUpperCase() })),
      )
    }, keys.length)
    expect(ran, `seed ${seed}`).toHaveLength(keys.length)
    expect(ran).toEqual(expect.arrayContaining(keys))
    expect(await world.query(`select * from pairs where state = 'pending'`)).toEqual([])
  })
})

describe('a pending query that would give wrong answers is refused with the way out', () => {
  type Given = { key?: unknown; pending: { text: string; values: unknown[] } }
  const refused: [what: string, given: Given, sentence: RegExp][] = [
    [
      'LIMIT',
      { pending: sql`select id from things order by due limit 10` },
      /has a LIMIT \(or OFFSET\).*Remove the LIMIT/s,
    ],
    ['OFFSET', { pending: sql`select id from things offset 10` }, /has a LIMIT \(or OFFSET\)/],
    ['LIMIT in a subquery', { pending: sql`select id from (select id from things limit 10) x` }, /has a LIMIT/],
    [
      'LIMIT in one half of a union',
      { pending: sql`select id from things union all (select id from things limit 1)` },
      /has a LIMIT/,
    ],
    [
      'a WITH that is used twice',
      { pending: sql`with x as (select id from things) select a.id from x a join x b on a.id > b.id` },
      /the key comes from a WITH that is used twice.*Write it as a subquery/s,
    ],
    [
      'a WITH that is materialized',
      { pending: sql`with x as materialized (select id from things limit 3) select id from x` },
      /the key comes from a WITH/,
    ],
    [
      'FOR UPDATE',
      { pending: sql`select id from things for update skip locked` },
      /locks rows \(FOR UPDATE\).*Lock rows in the handler, inside ctx\.tx/s,
    ],
    [
      'a window function',
      { pending: sql`select id from (select id, row_number() over (order by due) as n from things) x where n < 5` },
      /window function.*Write it without OVER/s,
    ],
    [
      'a window function as version',
      { pending: sql`select id, (row_number() over (order by due))::text as version from things` },
      /window function.*Write it without OVER/s,
    ],
    [
      'a window function as run_at',
      { pending: sql`select id, max(due) over () as run_at from things` },
      /window function/,
    ],
    [
      'a window function in a join that only the version needs',
      {
        pending: sql`select t.id, w.place::text as version from things t
          left join (select id, row_number() over (order by due) as place from things) w on w.id = t.id`,
      },
      /window function/,
    ],
    [
      'an aggregate of some rows as key',
      { pending: sql`select max(id) as id from things group by state` },
      /the key is an aggregate.*plain key column/s,
    ],
    [
      'an aggregate of all rows as key, beside a version',
      { pending: sql`select max(state) as id, count(*)::text as version from things` },
      /the key is an aggregate.*plain key column/s,
    ],
    [
      'an aggregate as a column of a composite key',
      {
        key: { tenant: 'uuid', n: 'bigint' },
        pending: sql`select tenant, max(n) as n from pairs group by tenant, name`,
      },
      /the key is an aggregate/,
    ],
    [
      'LIMIT beside a version',
      { pending: sql`select id, n::text as version from things order by due limit 10` },
      /has a LIMIT/,
    ],
    [
      'an expression as key',
      { pending: sql`select lower(id) as id from things` },
      /the key is the expression lower\(things\.id\).*plain key column/s,
    ],
    ['a cast as key', { pending: sql`select id::text as id from numbers` }, /the key is the expression .*::text/],
    [
      'another key type',
      { pending: sql`select id from numbers` },
      /`key` is 'text', and the column "id" is bigint.*Declare key: 'bigint'/s,
    ],
    [
      'a key type that is none',
      { pending: sql`select n from things` },
      /the column "n" is numeric.*Return a column of type text, integer, bigint or uuid/s,
    ],
    [
      'a bigint for an int',
      { key: 'int', pending: sql`select id from numbers` },
      /`key` is 'int', and the column "id" is bigint/,
    ],
    [
      'surplus columns',
      { pending: sql`select id, state, payload from things` },
      /returns "state", "payload" besides its key.*identity, never facts/s,
    ],
    [
      'run_at without a zone',
      { pending: sql`select id, at as run_at from things` },
      /`run_at` is timestamp, expected timestamptz.*at time zone 'UTC'/s,
    ],
    [
      'run_at as seconds',
      { pending: sql`select id, 1767225600 as run_at from things` },
      /`run_at` is integer, expected timestamptz.*to_timestamp\(run_at\), of milliseconds by to_timestamp\(run_at \/ 1000.0\)/s,
    ],
    [
      'run_at as a day',
      { pending: sql`select id, current_date as run_at from things` },
      /`run_at` is .*, expected timestamptz.*run_at::timestamp/s,
    ],
    [
      'run_at as a text',
      { pending: sql`select id, 'tomorrow' as run_at from things` },
      /`run_at` is text, expected timestamptz.*run_at::timestamptz/s,
    ],
    ['no key', { pending: sql`select due as run_at from things` }, /returns "run_at", and no key column/],
    [
      'a missing column of a composite key',
      { key: { id: 'text', tenant: 'uuid' }, pending: sql`select id from things` },
      /no key column "tenant"/,
    ],
    ['a table that is not there', { pending: sql`select id from no_such_table` }, /"no_such_table" does not exist/],
  ]
  test.each(refused)('%s', async (_, given, sentence) => {
    const { app } = world.app()
    app.job('refused', given as never)
    const [report] = await operate(app).sweep({ jobs: ['refused'] })
    expect(report?.error).toMatch(sentence)
    expect(report).toMatchObject({ pushed: 0, finished: false })
  })

  test('a worker refuses it too, starts nothing of it, and runs when the query is mended', async () => {
    await world.db.exec(`create table later (id text primary key, done boolean not null default false)`)
    const { app, ear } = world.app()
    app.job('later', {
      pending: sql`select id from later where not done`,
      sweep: { every: '2s' },
      run: (id) => world.query(`update later set done = true where id = $1`, [id]),
    })
    await world.db.exec(`alter table later rename to elsewhere`)
    await world.work(app)
    await world.until(() => ear.of('sweep.failed').length >= 2)
    await world.db.exec(`alter table elsewhere rename to later; insert into later (id) values ('a')`)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 15_000)
    await world.db.exec(`drop table later`)
  })
})

describe('a pending query may be', () => {
  test.each([
    ['ordered', sql`select id from things where state = 'pending' order by due`],
    ['distinct', sql`select distinct id from things where state = 'pending'`],
    ['grouped', sql`select id from things where state = 'pending' group by id`],
    [
      'a union',
      sql`select id from things where state = 'pending' union all select id from things where state = 'lost'`,
    ],
    ['a with', sql`with due as (select id from things where state = 'pending') select id from due`],
    [
      'a join',
      sql`select t.id from things t join (values ('a'), ('b')) as v(id) on v.id = t.id where t.state = 'pending'`,
    ],
    [
      'an exists with a limit inside',
      sql`select id from things t where state = 'pending' and exists (select 1 from things u where u.id = t.id limit 1)`,
    ],
    [
      'a LIMIT over other rows than its own',
      sql`select id from things where state = 'pending' and id in (select id from things order by due limit 1000)`,
    ],
    [
      'a version that is an aggregate of its own rows',
      sql`select id, count(*)::text as version from things where state = 'pending' group by id order by count(*)`,
    ],
    [
      'a version from a LIMIT over other rows',
      sql`select t.id, (select u.n::text from things u where u.id = t.id order by u.due limit 1) as version from things t where state = 'pending'`,
    ],
    ['a distinct with its version', sql`select distinct id, n::text as version from things where state = 'pending'`],
    [
      'grouped, with a condition of the group',
      sql`select id from things where state = 'pending' group by id having count(*) = 1`,
    ],
    ['parameterised', sql`select id from things where state = ${'pending'} and coalesce(n, 0) < ${5}`],
    ['named otherwise', sql`select id as "Thing Id" from things where state = 'pending'`],
    ['followed by a comment', { text: `select id from things where state = 'pending' -- only these`, values: [] }],
  ])('%s', async (_, pending) => {
    await world.db.exec(`insert into things (id) values ('a'), ('b')`)
    const ran = await drained((app, all) => {
      app.job('allowed', { pending, run: (id) => finish('things', id).then(() => all.push(id)) })
    }, 2)
    expect(ran.sort()).toEqual(['a', 'b'])
  })
})
