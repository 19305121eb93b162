// A connection that breaks inside ctx.tx is nobody's failure: the run starts again, and nothing is counted.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { Ear } from './world.ts'

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
