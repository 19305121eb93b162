// A connection that breaks inside ctx.tx is nobody's failure: the run starts again, and nothing is counted. Outside of runs every call says
// that the store is away, with what to do, and keeps the error of its client.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, RegrowError, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let beside: pg.Client

beforeAll(async () => {
  database = await freshDatabase('away')
  beside = new pg.Client({ connectionString: database.url })
  await beside.connect()
  await beside.query(
    `create table things (id int primary key, state text not null default 'pending', runs int not null default 0)`,
  )
})
afterAll(async () => {
  await beside.end()
  await database.drop()
})

test.each([
  ['by a statement of the handler', false],
  ['by the fence, before the commit', true],
])(
  'a backend that is terminated inside ctx.tx, found %s, counts nothing and the key runs again',
  async (_, atFence) => {
    await beside.query(`truncate things`)
    await beside.query(`insert into things (id) values (1)`)
    const app = regrow({ store: postgres(database.url) })
    const ear = new Ear(app)
    let calls = 0
    app.job(`thing.${atFence}`, {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          const { rows } = await tx.query('select pg_backend_pid() as pid')
          await tx.query(`update things set state = 'done', runs = runs + 1 where id = $1`, [id])
          if (++calls > 1) return
          await beside.query('select pg_terminate_backend($1)', [rows[0]?.pid])
          if (!atFence) await tx.query('select 1')
        }),
    })
    const worker = app.work()
    try {
      await ear.hears('job.settled', { state: 'done' })
    } finally {
      await worker.stop()
      await app.close()
    }
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(ear.of('job.settled').map(({ state, error }) => [state, error])).toEqual([
      ['retrying', null],
      ['done', null],
    ])
    expect((await beside.query(`select runs from things`)).rows).toEqual([{ runs: 1 }])
  },
)

const calls: [string, (app: App) => Promise<unknown>][] = [
  ['transaction', (app) => app.transaction(async () => {})],
  ['enqueue', (app) => app.job('mail.send', { input: z.object({ to: z.string() }) }).enqueue({ to: 'ann' })],
  ['pause', (app) => app.pause('thing.make', { reason: 'x' })],
  ['resume', (app) => app.resume('thing.make')],
  ['drain', (app) => app.drain()],
  ['status', (app) => operate(app).status()],
  ['health', (app) => operate(app).health()],
  ['doctor', (app) => operate(app).doctor()],
  ['migrate', (app) => operate(app).migrate()],
  ['quarantine.list', (app) => operate(app).quarantine.list()],
  ['schedules.list', (app) => operate(app).schedules.list()],
]

const appAt = (url: string): App => {
  const app = regrow({ store: postgres(url), log: false })
  app.job('thing.make', { key: 'int', pending: sql`select id from things`, run() {} })
  return app as unknown as App
}

test.each(calls)('%s says that the store is away, and what to do', async (_, call) => {
  const app = appAt('postgres://app:hunter2@127.0.0.1:1/none')
  const error = (await call(app).catch((thrown: unknown) => thrown)) as RegrowError
  expect(error).toBeInstanceOf(RegrowError)
  expect(error).toMatchObject({
    code: 'store_away',
    message: expect.stringMatching(/^The store cannot be reached: connect ECONNREFUSED 127.0.0.1:1/),
    hint: expect.stringMatching(/^Nothing listens there. Is the server running.* Call again when it is back/),
    cause: { code: 'ECONNREFUSED' },
  })
  expect(error.stack).not.toContain('hunter2')
  await app.close()
})

test.each(calls)('%s says that the store refuses its user, and what to do', async (_, call) => {
  const url = new URL(database.url)
  url.pathname = '/no_such_database'
  const app = appAt(url.href)
  await expect(call(app)).rejects.toMatchObject({
    code: 'store_refused',
    message: expect.stringMatching(/database "no_such_database" does not exist/),
    hint: expect.stringContaining('There is no database of that name on the server.'),
    cause: { code: '3D000' },
  })
  await app.close()
})

test('a host that there is none of is refused the same way', async () => {
  const app = appAt('postgres://app@no-such-host.invalid/none')
  await expect(app.transaction(async () => {})).rejects.toMatchObject({
    code: expect.stringMatching(/^store_(refused|away)$/),
    hint: expect.stringMatching(/host/),
    cause: { code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) },
  })
  await app.close()
})

test('a backend that is terminated inside app.transaction: the error says so, and does not speak of a run', async () => {
  const app = appAt(database.url)
  const cut = app.transaction(async (tx) => {
    const { rows } = await tx.query('select pg_backend_pid() as pid')
    await beside.query('select pg_terminate_backend($1)', [Number(rows[0]?.pid)])
    await tx.query('select 1')
  })
  await expect(cut).rejects.toMatchObject({
    code: 'store_away',
    message: expect.stringMatching(/^The store cannot be reached: terminating connection/),
    hint: expect.stringMatching(/Call again when it is back; a call that was cut off may have taken effect\.$/),
  })
  await app.close()
})

test('what the function of app.transaction throws is its own, also of another server that is away', async () => {
  const app = appAt(database.url)
  const theirs = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:6379'), { code: 'ECONNREFUSED' })
  const failing = app.transaction(async () => {
    throw theirs
  })
  expect(await failing.catch((error: unknown) => error)).toBe(theirs)
  await app.close()
})
