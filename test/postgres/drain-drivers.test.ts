// app.drain on real stores and queues: nothing is left that is due, nothing runs twice, and it needs no other worker.

import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { memory } from '../../src/drivers/memory/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type QueueDriver, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let client: pg.Client
beforeAll(async () => {
  database = await freshDatabase('drain')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(
    `create table things (id int primary key, state text not null default 'pending', runs int not null default 0)`,
  )
})
beforeEach(() => client.query(`truncate things`))
afterAll(async () => {
  await client.end()
  await database.drop()
})

const queues: [name: string, queue: () => QueueDriver | undefined][] = [
  ['postgres', () => undefined],
  ['redis', () => redis(inject('redisUrl'), { namespace: `drain-${process.pid}` })],
  ['memory', () => memory()],
]

describe.each(queues)('with the queue in %s', (_, queue) => {
  const appOf = () => {
    const app = regrow({ store: postgres(database.url), log: false, ...(queue() && { queue: queue() as QueueDriver }) })
    const thing = app.job('thing', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
      run: (id, ctx) => ctx.tx(sql`update things set state = 'done', runs = runs + 1 where id = ${id}`),
    })
    return { app, thing }
  }

  test('a thousand rows are done once each, half of them enqueued, and a second drain finds nothing', async () => {
    const { app, thing } = appOf()
    await using _app = app
    await client.query(`insert into things (id) select generate_series(1, 1000)`)
    await thing.enqueueMany(Array.from({ length: 500 }, (_each, i) => i + 1))
    expect(await app.drain({ concurrency: 50, for: '60s' })).toMatchObject({
      ...{ runs: 1_000, succeeded: 1_000, failed: 0, quarantined: 0, sweepsFailed: [], ended: 'idle' },
    })
    const { rows } = await client.query(`select state, runs, count(*)::int as n from things group by 1, 2`)
    expect(rows).toEqual([{ state: 'done', runs: 1, n: 1_000 }])
    expect(await app.drain()).toMatchObject({ runs: 0, ended: 'idle' })
    expect((await operate(app).health()).findings.map(({ code }) => code)).not.toContain('no_worker')
  })

  test('two drains of two processes share the rows, and none runs twice', async () => {
    const [one, two] = [appOf(), appOf()]
    await using _one = one.app
    await using _two = two.app
    await client.query(`insert into things (id) select generate_series(1, 300)`)
    const reports = await Promise.all([one.app.drain({ for: '60s' }), two.app.drain({ for: '60s' })])
    expect(reports.reduce((sum, { runs }) => sum + runs, 0)).toBe(300)
    const { rows } = await client.query(`select runs, count(*)::int as n from things group by 1`)
    expect(rows).toEqual([{ runs: 1, n: 300 }])
  })

  test('`max` is kept, and the next drain does the rest', async () => {
    const { app } = appOf()
    await using _app = app
    await client.query(`insert into things (id) select generate_series(1, 30)`)
    expect(await app.drain({ max: 7 })).toMatchObject({ runs: 7, ended: 'max' })
    expect(await app.drain()).toMatchObject({ runs: 23, ended: 'idle' })
  })
})

test('a store that is away is an error, at once', async () => {
  await using app = regrow({ store: postgres('postgres://app@127.0.0.1:1/none'), log: false })
  app.job('thing', { pending: sql`select id from things`, run() {} })
  await expect(app.drain()).rejects.toMatchObject({ name: 'RegrowError' })
})
