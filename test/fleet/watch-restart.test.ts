// What a restart costs in development: under `node --watch` a worker gives back what it runs, and the next one starts it at once.
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { built, Project } from '../processes/cli.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
let database: FreshDatabase
let client: pg.Client
let project: Project

beforeAll(async () => {
  await built()
  database = await freshDatabase('watch_restart')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create table things (id text primary key, state text not null default 'pending')`)
  project = new Project({ DATABASE_URL: database.url })
}, 180_000)
afterAll(async () => {
  project?.remove()
  await client.end()
  await database.drop()
})

/** The app as it is saved: its handler hangs, or is mended. */
const app = (handler: string) => `
import { regrow, sql } from 'regrow'
import { postgres } from 'regrow/postgres'
export const app = regrow({ store: postgres(process.env.DATABASE_URL) })
app.job('thing.make', {
  pending: sql\`select id from things where state = 'pending'\`,
  sweep: { every: '1h' },
  async run(id, ctx) { ${handler} },
})
`

test('a worker that node --watch restarts gives its claims back, and the next one starts them before a lease is over', async () => {
  project.write('app.mjs', app(`console.log('hangs'); await new Promise(() => {})`))
  const worker = project.node('--watch', main, 'work', '--app', 'app.mjs', '--grace', '0ms')
  await worker.says('working on thing.make')
  await client.query(`insert into things values ('a')`)
  expect(await project.run('enqueue', 'thing.make', 'a', '--app', 'app.mjs')).toMatchObject({ code: 0 })
  await worker.says('hangs')
  const savedAt = performance.now()
  project.write(
    'app.mjs',
    app(`await ctx.tx(sql\`update things set state = 'done' where id = \${id}\`); console.log('mended', ctx.attempt)`),
  )
  await worker.says('mended 1')
  // The lease is 15 s: what kill -9 left behind would not start sooner.
  expect(performance.now() - savedAt).toBeLessThan(12_000)
  expect((await client.query(`select state from things`)).rows).toEqual([{ state: 'done' }])
  expect((await client.query(`select count(*)::int as n from regrow.ledger`)).rows).toEqual([{ n: 0 }])
  worker.child.kill('SIGTERM')
  await worker.ended
}, 60_000)
