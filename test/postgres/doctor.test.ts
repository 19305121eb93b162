// What the doctor finds besides indexes, each made to happen on real servers, and mended where that is cheap.
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { newestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type AppOptions, regrow, sql } from '../../src/index.ts'
import { type DoctorFinding, type DoctorReport, operate } from '../../src/operate/index.ts'
import { startRedis } from '../../tools/services/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let client: pg.Client
const apps: App[] = []

beforeAll(async () => {
  database = await freshDatabase('doctor')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create table things (id text primary key, state text not null default 'pending')`)
  await operate(made()).migrate()
})
beforeEach(() =>
  client.query(
    'truncate things, regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.pauses, regrow.marks, regrow.heals',
  ),
)
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})
afterAll(async () => {
  await client?.end()
  await database?.drop()
})

function made(options: Partial<AppOptions> = {}): App {
  const app = regrow({ store: postgres(database.url), ...options }) as App
  apps.push(app)
  return app
}

/** An app with one job on `things`. */
function thingApp(options: Partial<AppOptions> = {}): App {
  const app = made(options)
  app.job('thing.make', { pending: sql`select id from things where state = 'pending'`, run() {} })
  return app
}

const found = ({ findings }: DoctorReport) => findings.map(({ level, code }) => `${level} ${code}`)
const only = ({ findings }: DoctorReport, code: string) => findings.find((each) => each.code === code) as DoctorFinding

test('an app that nothing is wrong with is healthy, and nothing is told', async () => {
  const app = thingApp()
  app.job('mail.send', { input: z.string(), run() {} })
  const report = await operate(app).doctor()
  expect(report).toMatchObject({ healthy: true, findings: [], at: expect.any(Date) })
  expect(report.jobs).toMatchObject([{ job: 'thing.make', page: { rows: 0 }, nextPage: null, indexes: [] }])
})

test('each finding says what, why it matters and what to do', async () => {
  const app = thingApp({ guard: 'none' })
  app.job('bad', { pending: sql`select id from things limit 5`, run() {} })
  await client.query(`insert into regrow.ledger (job, key, state) values ('gone', 'k', 'quarantined')`)
  const { findings } = await operate(app).doctor()
  expect(findings.map(({ level }) => level)).toEqual(['bad', 'warn', 'warn', 'note'])
  for (const { message, why, hint } of findings)
    for (const text of [message, why, hint]) expect(text.length).toBeGreaterThan(15)
})

describe('pending queries that are refused are told with their cure, and the others are examined:', () => {
  test.each([
    ['a limit', `select id from things limit 5`, 'has a LIMIT', 'Remove the LIMIT'],
    [
      'a window',
      `select id from (select id, row_number() over (order by id) n from things) x where n > 0`,
      'window',
      'OVER',
    ],
    ['an expression as key', `select id || '' as id from things`, 'is the expression', 'plain key column'],
    ['a lock', `select id from things for update`, 'locks rows', 'ctx.tx'],
    ['a table that is not there', `select id from nothings`, 'relation "nothings" does not exist', 'migrated'],
    ['another type', `select 1 as id from things`, "`key` is 'text', and the column", "key: 'int'"],
    [
      'a WITH of its own',
      `with x as materialized (select id from things) select id from x`,
      'MATERIALIZED',
      'subquery',
    ],
  ])('%s', async (_, text, message, hint) => {
    const app = thingApp()
    app.job('bad', { pending: { text, values: [] }, run() {} })
    const report = await operate(app).doctor()
    expect(report.healthy).toBe(false)
    expect(report.findings).toMatchObject([
      {
        ...{ level: 'bad', code: 'pending_refused', job: 'bad', fix: null },
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      },
    ])
    expect(report.jobs.map(({ job }) => job)).toEqual(['thing.make'])
  })

  test('row security that lets nothing through: the table is not even in the plan', async () => {
    const role = `reader_${database.name.slice(-8)}`
    await client.query(`
      create table secrets (id text primary key); alter table secrets enable row level security;
      create role ${role} login; grant usage on schema regrow to ${role};
      grant select on all tables in schema regrow to ${role}; grant select on secrets, things to ${role}`)
    try {
      const url = new URL(database.url)
      url.username = role
      const app = thingApp({ store: postgres(url.href) })
      app.job('secret.keep', { pending: sql`select id from secrets`, run() {} })
      const report = await operate(app).doctor()
      expect(only(report, 'pending_refused').message).toContain('row security of "secrets" holds for this user')
      // That it may not write is told, too, with what would let it.
      const rights = only(report, 'rights_missing')
      expect(rights.message).toMatch(new RegExp(`^The user ${role} lacks delete on audit, insert on audit`))
      await client.query(rights.fix as string)
      expect(found(await operate(app).doctor())).not.toContain('warn rights_missing')
    } finally {
      await client.query(`drop owned by ${role}; drop role ${role}; drop table secrets`)
    }
  })

  test('mistakes in declarations are told, and what can be examined is', async () => {
    const app = thingApp()
    app.job('frozen', { pending: { text: 'select id from things where $1 < now()', values: [new Date(0)] }, run() {} })
    const report = await operate(app).doctor()
    expect(report.findings).toMatchObject([{ level: 'bad', code: 'declaration_refused' }])
    expect(report.findings[0]?.message).toContain('holds the date 1970')
    expect(report.jobs.map(({ job }) => job)).toEqual(['thing.make'])
  })
})

test('a source of functions cannot be explained: a note', async () => {
  const app = made()
  app.job('own', { pending: { page: async () => [], isPending: async () => [] }, run() {} })
  expect(found(await operate(app).doctor())).toEqual(['note source_own'])
})

describe('the way to the database:', () => {
  test('a pooler is noticed, and that nothing can be listened to through it', async () => {
    const report = await operate(thingApp({ store: postgres(database.bouncerUrl) })).doctor()
    expect(found(report)).toEqual(['note pooler', 'note queue_polls'])
    expect(report.healthy).toBe(true)
  })

  test('a pool that is too small is told, and a single client', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 3 })
    const large = new pg.Pool({ connectionString: database.url, max: 10 })
    try {
      const report = await operate(thingApp({ store: postgres(pool) as never })).doctor()
      expect(found(report)).toEqual(['warn pool_small'])
      expect(only(report, 'pool_small').message).toBe('The pool that the store was given has 3 connections at most')
      expect(found(await operate(thingApp({ store: postgres(large) as never })).doctor())).toEqual([])
      expect(found(await operate(thingApp({ store: postgres(client) as never })).doctor())).toEqual([
        'warn pool_small',
        'note queue_polls',
      ])
    } finally {
      await Promise.all([pool.end(), large.end()])
    }
  })

  test('a read-only endpoint is bad; pending queries are examined all the same', async () => {
    const url = new URL(database.url)
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const report = await operate(thingApp({ store: postgres(url.href) })).doctor()
    expect(found(report)).toEqual(['bad read_only'])
    expect(report.jobs).toHaveLength(1)
  })

  test('clocks that differ by more than seconds are told', async () => {
    const clock = (text: string) =>
      client.query(
        `create or replace function regrow.clock() returns timestamptz language sql volatile as 'select ${text}'`,
      )
    try {
      await clock(`clock_timestamp() + interval ''90 seconds''`)
      const report = await operate(thingApp()).doctor()
      expect(found(report)).toEqual(['warn clock_skew'])
      expect(only(report, 'clock_skew').message).toMatch(/^The clock of this machine is 1m \d+s behind the database's$/)
    } finally {
      await clock('clock_timestamp()')
    }
    expect(found(await operate(thingApp()).doctor())).toEqual([])
  })

  test('a store that does not answer rejects', async () => {
    await expect(operate(thingApp({ store: postgres('postgres://u@127.0.0.1:1/none') })).doctor()).rejects.toThrow(
      'ECONNREFUSED',
    )
  })
})

describe("the version of regrow's tables:", () => {
  const version = (change: string) =>
    client.query(`update regrow.meta set value = value::int + ${change} where name = 'schema'`)

  test('one version back is worth a migration, and is not migrated by the doctor', async () => {
    await version('-1')
    try {
      const report = await operate(thingApp()).doctor()
      expect(found(report)).toEqual(['warn schema_old', 'warn not_examined'])
      expect(report.jobs).toHaveLength(1)
      expect(found(await operate(thingApp({ migrate: false })).doctor())).toEqual(['warn schema_old'])
      expect(only(await operate(thingApp()).doctor(), 'schema_old').message).toContain('A migration is due')
    } finally {
      await version('+1')
    }
  })

  test('two versions back does not start; a newer one is fine', async () => {
    await version('-2')
    try {
      expect(found(await operate(thingApp()).doctor())).toEqual(['bad schema_old'])
    } finally {
      await version('+2')
    }
    await version('+1')
    try {
      expect(found(await operate(thingApp()).doctor())).toEqual(['note schema_new'])
    } finally {
      await version('-1')
    }
  })

  test('a database without them says so, and is left without them', async () => {
    const other = await freshDatabase('doctor_empty')
    try {
      const report = await operate(thingApp({ store: postgres(other.url) })).doctor()
      expect(report).toMatchObject({ at: null, healthy: false, jobs: [] })
      expect(only(report, 'schema_old')).toMatchObject({ level: 'bad', message: "regrow's tables are not there" })
      const again = await operate(thingApp({ store: postgres(other.url) })).doctor()
      expect(found(again)).toEqual(['bad schema_old'])
    } finally {
      await Promise.all(apps.splice(0).map((app) => app.close()))
      await other.drop()
    }
  })
})

describe('the fleet:', () => {
  const worker = (id: string, print: string, minutes: number) =>
    client.query(
      `with swept as (
         insert into regrow.sweeps (job, next_at, last_success_at) values ('thing.make', now(), now()) on conflict (job) do nothing)
       insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
       values ($1, $1, 7, jsonb_build_object('thing.make', $2::text), now() - make_interval(mins => $3::int), now())`,
      [id, print, minutes],
    )

  test('what health finds is told with its reason: a pause that was forgotten, a job without a worker', async () => {
    await client.query(`
      insert into regrow.pauses (job, reason, author, since) values ('thing.make', 'why not', 'ann', now() - interval '3 days');
      insert into regrow.sweeps (job, next_at, last_success_at) values ('thing.make', now(), now())`)
    const app = thingApp()
    const report = await operate(app).doctor()
    expect(found(report)).toEqual(['bad pause_old', 'warn no_worker'])
    expect(only(report, 'pause_old').why).toContain('forgotten')
    await app.resume('thing.make')
    expect(found(await operate(app).doctor())).toEqual(['bad no_worker'])
  })

  test('rows of a job that nobody knows: the statements forget it', async () => {
    await client.query(`
      insert into regrow.ledger (job, key, state) values ('it''s gone', 'a', 'quarantined'), ('it''s gone', 'b', 'retrying');
      insert into regrow.intents (id, job, input, created_at) values (gen_random_uuid(), 'it''s gone', '{}', now())`)
    const app = thingApp()
    const report = await operate(app).doctor()
    const unknown = only(report, 'job_unknown')
    expect(unknown.message).toBe(
      "it's gone: neither this app nor any live worker knows it, and it has 2 in the ledger, 1 of them quarantined and 1 stored input",
    )
    await client.query(unknown.fix as string)
    expect(found(await operate(app).doctor())).toEqual([])
  })

  test('declarations that differ are told when no deploy takes so long', async () => {
    await worker('old', 'aaaa', 60)
    await worker('new', 'bbbb', 14)
    const app = made()
    expect(found(await operate(app).doctor())).toEqual([])
    await client.query(`update regrow.workers set started_at = started_at - interval '2 minutes'`)
    const report = await operate(app).doctor()
    expect(found(report)).toEqual(['warn declarations_differ'])
    expect(only(report, 'declarations_differ').message).toMatch(
      /^thing\.make: live workers have 2 different declarations of it, for 16m.*: old, pid 7; new, pid 7$/,
    )
    // A worker that is dead declares nothing.
    await client.query(`update regrow.workers set beat_at = now() - interval '1 hour' where id = 'old'`)
    expect(found(await operate(app).doctor())).toEqual([])
  })

  test('a declaration that no live worker has is a note, until it is deployed', async () => {
    await worker('old', 'aaaa', 1)
    const app = thingApp()
    expect(found(await operate(app).doctor())).toEqual(['note declaration_undeployed'])
    const running = app.work()
    await running.ready
    await client.query(`delete from regrow.workers where id = 'old'`)
    expect(found(await operate(app).doctor())).toEqual([])
    await running.stop()
  })
})

describe('the queue:', () => {
  test('a Redis that evicts or is nearly full is told, by INFO alone; a user without INFO leaves a note', async () => {
    const server = await startRedis({ settings: { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' } })
    try {
      const app = thingApp({ queue: redis(server.url()) })
      const report = await operate(app).doctor()
      expect(found(report)).toEqual(['warn queue_evicts'])
      expect(only(report, 'queue_evicts').message).toBe('The queue (redis) has the policy allkeys-lru')
      await server.command('CONFIG', 'SET', 'maxmemory', 0)
      expect(found(await operate(app).doctor())).toEqual(['note queue_evicts'])
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
      expect(found(await operate(app).doctor())).toEqual([])
      await server.command('CONFIG', 'SET', 'maxmemory', '800kb')
      expect(only(await operate(app).doctor(), 'queue_memory')).toMatchObject({ level: 'warn' })
      await server.command('CONFIG', 'SET', 'maxmemory', 0)
      await server.command('ACL', 'SETUSER', 'shop', 'on', '>secret', '~*', '+@all', '-info')
      const url = `redis://shop:secret@127.0.0.1:${server.port}`
      const limited = await operate(thingApp({ queue: redis(url, { namespace: 'other' }) })).doctor()
      expect(found(limited)).toEqual(['note not_examined'])
      expect(only(limited, 'not_examined').hint).toContain('+info')
    } finally {
      await Promise.all(apps.splice(0).map((app) => app.close()))
      await server.close()
    }
  })

  test('a queue that does not answer is told by health, and the rest is examined', async () => {
    const report = await operate(thingApp({ queue: redis('redis://127.0.0.1:1') })).doctor()
    expect(found(report)).toEqual(['bad queue_down'])
    expect(report.jobs).toHaveLength(1)
  })

  test('a table of hints that is far too large for them is told', async () => {
    // A hint to the block: as large as a million of them would be, had they not been popped.
    await client.query('alter table regrow.hints set (autovacuum_enabled = false, fillfactor = 10)')
    await client.query(
      `insert into regrow.hints (due_at, fresh, job, key) select now() + interval '1 day', false, 'x', repeat('k', 900) || n from generate_series(1, 9000) n`,
    )
    await client.query('delete from regrow.hints')
    const app = thingApp()
    const report = await operate(app).doctor()
    expect(only(report, 'queue_bloat')).toMatchObject({ level: 'warn', fix: 'truncate regrow.hints, regrow.canary;' })
    await client.query(only(report, 'queue_bloat').fix as string)
    expect(found(await operate(app).doctor())).toEqual([])
  })
})

test('jobs that are named are examined alone; a name that is wrong is refused', async () => {
  const app = thingApp()
  app.job('bad', { pending: sql`select id from things limit 5`, run() {} })
  const told: unknown[] = []
  const report = await operate(app).doctor({ jobs: ['thing.make'], onProgress: (progress) => void told.push(progress) })
  expect(report).toMatchObject({ healthy: true, findings: [], jobs: [{ job: 'thing.make' }] })
  expect(told).toEqual([
    { what: 'pending queries', done: 0, total: 1 },
    { what: 'pending queries', done: 1, total: 1 },
  ])
  await expect(operate(app).doctor({ jobs: ['thing.mak'] })).rejects.toMatchObject({ code: 'unknown_job' })
})

test('what cannot be examined is a finding of its own, and not the end of the others', async () => {
  await client.query('alter table regrow.sweeps rename to elsewhere')
  try {
    const report = await operate(thingApp()).doctor()
    expect(report.healthy).toBe(false)
    expect(only(report, 'not_examined').message).toContain(
      'the health of the fleet could not be examined: relation "regrow.sweeps" does not exist',
    )
    expect(report.jobs).toHaveLength(1)
  } finally {
    await client.query('alter table regrow.elsewhere rename to sweeps')
  }
})

describe('as an ordinary role:', () => {
  const asRole = (role: string) => database.url.replace('postgres@', `${role}@`)
  const roles = ['doctor_reader', 'doctor_nobody']
  beforeAll(async () => {
    await client.query(`
      create role doctor_reader login; create role doctor_nobody login;
      grant usage on schema regrow to doctor_reader;
      grant select, insert, update, delete on all tables in schema regrow to doctor_reader;
      grant select on things to doctor_reader`)
  })
  afterAll(async () => {
    await client.query(`drop owned by ${roles.join(', ')}; drop role ${roles.join(', ')}`)
  })

  test('pending queries are explained, and statistics looked for, without rights of a superuser', async () => {
    await client.query(`insert into things select n::text, 'done' from generate_series(1, 60000) n; analyze things`)
    const report = await operate(thingApp({ store: postgres(asRole('doctor_reader')) })).doctor()
    expect(report.jobs).toMatchObject([{ job: 'thing.make', page: { rowsRead: expect.any(Number) } }])
    expect(found(report)).toEqual(['warn index_missing'])
  })

  test('one that may not read regrow’s tables is told which rights it lacks, and how to get them', async () => {
    const report = await operate(thingApp({ store: postgres(asRole('doctor_nobody')) })).doctor()
    expect(found(report)).toEqual(['bad rights_missing'])
    expect(only(report, 'rights_missing').fix).toContain('grant usage on schema regrow to "doctor_nobody"')
  })
})

test('a version that is none is told; nobody migrates over it', async () => {
  await client.query(`update regrow.meta set value = 'abc' where name = 'schema'`)
  try {
    const app = thingApp()
    expect(found(await operate(app).doctor())).toEqual(['bad schema_unknown'])
    await expect(operate(app).migrate()).rejects.toMatchObject({ code: 'schema_unknown' })
  } finally {
    await client.query(`update regrow.meta set value = $1 where name = 'schema'`, [String(newestSchema)])
  }
})

test('a job that no worker ever had is told while others live and rows wait for it', async () => {
  await client.query(`insert into things values ('a', 'pending')`)
  const app = thingApp()
  expect(found(await operate(app).doctor())).toEqual([])
  await client.query(`insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
    values ('w', 'h', 7, '{"other.job": "x"}', now(), now())`)
  const report = await operate(app).doctor()
  expect(only(report, 'no_handler')).toMatchObject({ level: 'warn', job: 'thing.make' })
  expect(only(report, 'no_handler').message).toContain('1 or more row waits')
})

test('one that is stopped says so, and is not healthy', async () => {
  const over = new AbortController()
  const app = thingApp()
  app.job('second', { pending: sql`select id from things where state = 'second'`, run() {} })
  const report = await operate(app).doctor({ signal: over.signal, onProgress: () => over.abort() })
  expect(report).toMatchObject({ stopped: true, healthy: false })
  expect(report.jobs).toHaveLength(1)
})

test('a key column and a table with quotes in their names are no expressions', async () => {
  await client.query(`create table "My ""Table" ("i""d" int primary key, st text)`)
  const app = made()
  app.job('quoted', { key: 'int', pending: sql`select "i""d" from "My ""Table" where st = 'x'`, run() {} })
  expect(found(await operate(app).doctor())).toEqual([])
})
