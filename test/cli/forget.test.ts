// A job that is gone from the code is forgotten, from code and on the command line, on a real Postgres and with the queue in Redis.

import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type QueueDriver, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { built, Project } from '../processes/cli.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'

let database: FreshDatabase
let client: pg.Client
let project: Project
const apps: App[] = []

beforeAll(async () => {
  await built()
  database = await freshDatabase('forget')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create table things (id text primary key)`)
  await operate(after()).migrate()
  project = new Project({ DATABASE_URL: database.url })
}, 180_000)
beforeEach(() =>
  client.query(
    `truncate things, regrow.ledger, regrow.workers, regrow.sweeps, regrow.intents, regrow.hints, regrow.pauses, regrow.audit, regrow.marks`,
  ),
)
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})
afterAll(async () => {
  project?.remove()
  await client.end()
  await database.drop()
})

/** The app before the deploy, with the job, and the one after it, without. */
function before(queue?: QueueDriver) {
  const app = regrow({ store: postgres(database.url), log: false, ...(queue ? { queue } : {}) })
  apps.push(app)
  const old = app.job('thing.old', { pending: sql`select id from things`, sweep: { every: '1h' } })
  const mail = app.job('mail.old', { input: z.object({}) })
  return { app, old, mail, handlers: [old.handle(() => Promise.reject(new Error('no')))] }
}

function after(queue?: QueueDriver): App {
  const app = regrow({ store: postgres(database.url), log: false, ...(queue ? { queue } : {}) })
  apps.push(app)
  app.job('thing.new', { pending: sql`select id from things where false`, run() {} })
  return app
}

const rows = async (job: string) =>
  (
    await client.query(
      `select (select count(*)::int from regrow.sweeps where job = $1) as sweeps, (select count(*)::int from regrow.ledger where job = $1) as ledger,
         (select count(*)::int from regrow.intents where job = $1) as intents, (select count(*)::int from regrow.hints where job = $1) as hints`,
      [job],
    )
  ).rows[0]

test.each(['postgres', 'redis'] as const)(
  'with the queue in %s a job is forgotten when its workers are gone, with hints and failures',
  async (kind) => {
    const { url, namespace } = freshRedis('forget')
    const queue = () => (kind === 'redis' ? redis(url, { namespace }) : undefined)
    const { app, old, handlers } = before(queue())
    await client.query(`insert into things values ('a'), ('b')`)
    const failed = new Promise((resolve) => app.on('job.settled', resolve))
    const worker = app.work({ handlers })
    await worker.ready
    await old.enqueue('a')
    await failed
    const now = after(queue())
    await expect(operate(now).forget('thing.old')).rejects.toMatchObject({
      code: 'job_in_use',
      message: expect.stringContaining('1 live worker declares it'),
    })
    await worker.stop({ grace: 0 })
    await expect(operate(app).forget('thing.old')).rejects.toMatchObject({ code: 'job_in_use' })
    await old.enqueue('c', { jitter: ['1h', '2h'] })
    const status = async () => (await operate(now).status()).jobs.find(({ job }) => job === 'thing.old')
    expect((await status())?.hints).not.toEqual({ due: 0, delayed: 0 })
    const report = await operate(now).forget('thing.old', { author: 'ann' })
    expect(report).toMatchObject({ job: 'thing.old', swept: true, paused: false, quarantined: 0, intents: 0 })
    expect(report.remembered).toBeGreaterThanOrEqual(1)
    expect(report.hints).toBeGreaterThanOrEqual(1)
    expect(await rows('thing.old')).toEqual({ sweeps: 0, ledger: 0, intents: 0, hints: 0 })
    expect((await client.query(`select id from things order by id`)).rows).toHaveLength(2)
    expect(await status()).toBeUndefined()
    expect((await operate(now).health()).findings).toEqual([])
    expect((await client.query(`select author, action, job from regrow.audit`)).rows).toEqual([
      { author: 'ann', action: 'forget', job: 'thing.old' },
    ])
    await expect(operate(now).forget('thing.old')).rejects.toMatchObject({ code: 'unknown_job' })
  },
)

test('inputs and quarantined keys keep a job from being forgotten, unless it is forced', async () => {
  const { mail } = before()
  await mail.enqueue({})
  await client.query(`insert into regrow.ledger (job, key, state) values ('mail.old', 'q', 'quarantined')`)
  const app = after()
  await expect(operate(app).forget('mail.old')).rejects.toMatchObject({
    code: 'job_has_work',
    message: expect.stringContaining('it has 1 stored input and 1 key in quarantine'),
  })
  expect(await rows('mail.old')).toMatchObject({ ledger: 1, intents: 1, hints: 1 })
  await expect(operate(app).forget('mail.old', { forced: true } as object)).rejects.toMatchObject({
    code: 'bad_options',
  })
  expect(await operate(app).forget('mail.old', { force: true })).toMatchObject({ intents: 1, quarantined: 1, hints: 1 })
  expect(await rows('mail.old')).toEqual({ sweeps: 0, ledger: 0, intents: 0, hints: 0 })
})

test('regrow forget says what went, refuses what has work left, and guesses a misspelt name', async () => {
  await client.query(`insert into regrow.sweeps (job, next_at) values ('thing.old', now()), ('thing.older', now())`)
  await client.query(`insert into regrow.ledger (job, key, state) values ('thing.old', 'q', 'quarantined')`)
  expect(await project.run('forget', 'thing.oldd')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean "thing.old"?'),
  })
  expect(await project.run('forget', 'thing.old')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/it has 1 key in quarantine\n.*--force/),
  })
  expect(await project.run('forget', 'thing.old', '--force')).toMatchObject({
    code: 0,
    stdout: 'thing.old is forgotten, with 1 key in quarantine.\nA worker that declares it again brings it back.\n',
  })
  expect(await project.json(['forget', 'thing.older'])).toMatchObject({ job: 'thing.older', swept: true, hints: 0 })
  expect((await client.query(`select author from regrow.audit where action = 'forget'`)).rows[0]?.author).toMatch(/@/)
})
