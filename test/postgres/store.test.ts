// The store on a real Postgres: however it is given, behind a pooler, migrated by many at once, read-only, or lost for a while.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type PostgresGiven, postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let admin: pg.Client
const apps: App[] = []

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

beforeAll(async () => {
  database = await freshDatabase('store')
  admin = await connected(database.url)
  await admin.query(
    `create table things (id int primary key, state text not null default 'pending'); create table effects (id int not null)`,
  )
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(apps.splice(0).map((app) => app.close()))
})
afterAll(async () => {
  await admin.end()
  await database.drop()
})

function open(store: StoreDriver, options: { migrate?: boolean } = {}) {
  const app = regrow({ store, ...options })
  apps.push(app)
  return { app, ear: new Ear(app) }
}

/** Rows, each of which has its effect once through ctx.tx; every fifth fails the first time. */
async function drain(
  { app, ear }: ReturnType<typeof open>,
  count: number,
  meanwhile: () => Promise<void> = async () => {},
) {
  await admin.query(`truncate things, effects`)
  const failed = new Set<number>()
  const job = app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where state = 'pending'`,
    retry: { delay: '50ms', maxDelay: '200ms', attempts: 1_000 },
    sweep: { every: '2s' },
    async run(id, ctx) {
      if (id % 5 === 0 && !failed.has(id)) {
        failed.add(id)
        throw new Error('the first try fails')
      }
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update things set state = 'done' where id = $1`, [id])
      })
    },
  })
  const mails = app.job('mail.send', { input: z.string(), sweep: { every: '2s' }, run() {} })
  const worker = app.work({ concurrency: 8 })
  await worker.ready
  await admin.query(`insert into things (id) select generate_series(1, $1::int)`, [count])
  await job.enqueueMany(Array.from({ length: count }, (_, i) => i + 1))
  await app.transaction((tx) => mails.enqueue('ada', { tx }))
  await meanwhile()
  // Asked of the database: the answer to a commit may be lost with its connection, and then no event tells of it.
  const deadline = performance.now() + 40_000
  const left = `select (select count(*) from things where state = 'pending') + (select count(*) from regrow.intents) as n`
  while (Number((await admin.query(left)).rows[0]?.n) > 0) {
    if (performance.now() > deadline) throw new Error(`not in 40 s; last told:\n${ear}`)
    await admin.query(`select pg_sleep(0.02)`)
  }
  await worker.stop()
  const { rows } = await admin.query(
    `select (select count(*) from things where state = 'pending')::int as pending, (select count(*) from effects)::int as effects,
       (select count(distinct id) from effects)::int as distinct, (select count(*) from regrow.ledger)::int as ledger,
       (select count(*) from regrow.intents)::int as intents, (select count(*) from regrow.workers)::int as workers`,
  )
  expect(rows).toEqual([{ pending: 0, effects: count, distinct: count, ledger: 0, intents: 0, workers: 0 }])
}

describe('given as', () => {
  const givens: Record<string, () => Promise<{ given: PostgresGiven; end?: () => Promise<void> }>> = {
    'an address': async () => ({ given: database.url }),
    'a function': async () => ({ given: async () => database.url }),
    'a pool': async () => {
      const pool = new pg.Pool({ connectionString: database.url, max: 3 })
      // A database that is dropped ends what is still open.
      pool.on('error', () => {})
      return { given: pool, end: () => pool.end() }
    },
    'a client': async () => {
      const client = await connected(database.url)
      return { given: client, end: () => client.end() }
    },
    'the address of PgBouncer in transaction mode': async () => ({ given: database.bouncerUrl }),
    'a pool on PgBouncer': async () => {
      const pool = new pg.Pool({ connectionString: database.bouncerUrl, max: 3 })
      // A database that is dropped ends what is still open.
      pool.on('error', () => {})
      return { given: pool, end: () => pool.end() }
    },
  }
  test.each(Object.entries(givens))('%s, everything runs, and effects happen once', async (_, make) => {
    const { given, end } = await make()
    const opened = open(postgres(given))
    await drain(opened, 60)
    const app = apps.pop()
    // Closed again, by another path to the end of the process, it is closed still.
    await Promise.all([app?.close(), app?.close()])
    await app?.close()
    // What the user gave is the user's: closing the app leaves it open.
    if (typeof given === 'object') expect((await given.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await end?.()
  })
})

describe('migrations', () => {
  test('ten at once on an empty database: one does it, all are served', async () => {
    const empty = await freshDatabase('migrate')
    const done = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const app = regrow({ store: postgres(empty.url, { max: 1 }) })
        try {
          return await operate(app).migrate()
        } finally {
          await app.close()
        }
      }),
    )
    expect(new Set(done.map(({ to }) => to)).size).toBe(1)
    expect(done.filter(({ from }) => from === 0)).toHaveLength(1)
    await empty.drop()
  })

  test('ten first uses at once on an empty database lose nothing', async () => {
    const empty = await freshDatabase('first_use')
    const keys = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const app = regrow({ store: postgres(empty.url, { max: 1 }) })
        try {
          return (await app.job('mail.send', { input: z.string() }).enqueue(`to ${i}`)).key
        } finally {
          await app.close()
        }
      }),
    )
    const client = await connected(empty.url)
    const { rows } = await client.query(`select id from regrow.intents order by id`)
    expect(rows.map(({ id }) => id)).toEqual(keys.sort())
    await client.end()
    await empty.drop()
  })

  test('in production nobody migrates by the way: the error names the command, and after it all is well', async () => {
    const empty = await freshDatabase('production')
    vi.stubEnv('NODE_ENV', 'production')
    const { app } = open(postgres(empty.url))
    const job = app.job('mail.send', { input: z.string() })
    await expect(job.enqueue('ada')).rejects.toMatchObject({
      code: 'not_migrated',
      message: expect.stringContaining('regrow migrate'),
    })
    const worker = app.work()
    await expect(worker.ready).rejects.toMatchObject({ code: 'not_migrated' })
    await operate(app).migrate()
    expect(await job.enqueue('ada')).toMatchObject({ status: 'added' })
    await apps.pop()?.close()
    await empty.drop()
  })

  test('migrate: true asks for it in production, migrate: false forbids it elsewhere', async () => {
    const empty = await freshDatabase('asked')
    await expect(operate(open(postgres(empty.url), { migrate: false }).app).status()).rejects.toMatchObject({
      code: 'not_migrated',
    })
    vi.stubEnv('NODE_ENV', 'production')
    const { app } = open(postgres(empty.url), { migrate: true })
    expect(await operate(app).status()).toMatchObject({ jobs: [] })
    await Promise.all(apps.splice(0).map((each) => each.close()))
    await empty.drop()
  })
})

describe('read-only', () => {
  const backends = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  const readOnly = async (on: boolean) => {
    await admin.query(`set default_transaction_read_only = off`)
    await admin.query(`alter database "${database.name}" set default_transaction_read_only = ${on ? 'on' : 'off'}`)
    await admin.query(backends)
  }

  test('a database that takes no writes is refused when it is opened', async () => {
    await readOnly(true)
    try {
      const { app } = open(postgres(database.url))
      const job = app.job('mail.send', { input: z.string() })
      await expect(job.enqueue('ada')).rejects.toMatchObject({
        code: 'read_only',
        message: expect.stringContaining('Give the address of the primary'),
      })
    } finally {
      await readOnly(false)
    }
  })

  test('a database that becomes read-only while it is worked on is waited for', async () => {
    const opened = open(postgres(database.url))
    await drain(opened, 40, async () => {
      await readOnly(true)
      await opened.ear.until(() =>
        opened.ear.of('loop.failed').some(({ error }) => (error as { code?: string } | null)?.code === '25006'),
      )
      await readOnly(false)
    })
  })
})

test('connections that are cut again and again are survived, and effects still happen once', async () => {
  const opened = open(postgres(database.url))
  let cut = 0
  await drain(opened, 400, async () => {
    for (let round = 1; round <= 8; round++) {
      await opened.ear.until(() => opened.ear.of('job.settled', { state: 'done' }).length >= round * 30)
      const { rowCount } = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      )
      cut += rowCount ?? 0
    }
  })
  expect(cut).toBeGreaterThan(8)
})

test('a table whose row security holds for the user is refused: hidden rows would look like no work', async () => {
  const role = `limited_${database.name.slice(-8)}`
  await operate(open(postgres(database.url)).app).migrate()
  await admin.query(`
    create table guarded (id int primary key, tenant text not null);
    alter table guarded enable row level security;
    create policy own on guarded using (tenant = current_setting('app.tenant', true));
    create role ${role} login;
    grant usage on schema regrow, public to ${role};
    grant all on all tables in schema regrow, public to ${role}`)
  const url = new URL(database.url)
  url.username = role
  const pending = sql`select id from guarded`
  const { app: limited } = open(postgres(url.href))
  limited.job('guarded', { key: 'int', pending })
  expect((await operate(limited).sweep())[0]?.error).toMatch(
    /row security of "guarded" holds for this user.*BYPASSRLS/s,
  )
  const { app: owner } = open(postgres(database.url))
  owner.job('guarded', { key: 'int', pending })
  expect((await operate(owner).sweep())[0]).toMatchObject({ error: null, finished: true })
  await Promise.all(apps.splice(0).map((app) => app.close()))
  await admin.query(`drop table guarded; drop owned by ${role}; drop role ${role}`)
})
