// A server that goes away under a worker, and one that lets it in no more, as a person at standard error sees them: a line for the
// whole outage, not one for each thing that needs the store.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type LogRecord, regrow, sql } from '../../src/index.ts'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { Ear } from '../flow/world.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: false } })
  await query(`create table things (id text primary key, state text not null default 'pending')`)
  await query(`create role guarded login password 'right'`)
}, 60_000)
afterAll(() => server.close())

async function query(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url() })
  await client.connect()
  await client.query(text)
  await client.end()
}

function appOn(url: string) {
  const records: LogRecord[] = []
  const app = regrow({ store: postgres(url), log: (record) => void records.push(record) })
  const thing = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1s' },
    run: (id, ctx) => ctx.tx(sql`update things set state = 'done' where id = ${id}`),
  })
  return { app, thing, records, ear: new Ear(app) }
}

test('a server that stops under a worker is one line for all that needs it, and its return is a line', async () => {
  const { app, records, ear } = appOn(server.url())
  const worker = app.work()
  await worker.ready
  await server.stop('fast')
  await ear.hears('loop.failed', { loop: 'free_dead' })
  await ear.hears('loop.failed', { loop: 'beat' })
  await ear.hears('loop.failed', { loop: 'local_sweep' })
  await server.start()
  await query(`insert into things (id) values ('a')`)
  await ear.hears('job.settled', { key: 'a' })
  await ear.hears('queue.up')
  await worker.stop()
  const lines = records.map(({ message }) => message)
  const outages = lines.filter((line) => line.startsWith('the store cannot be reached; this worker goes on'))
  expect(outages).toHaveLength(1)
  expect(lines.filter((line) => line.startsWith('the queue "postgres" is down'))).toHaveLength(1)
  expect(lines.filter((line) => line.startsWith('the queue "postgres" is back'))).toHaveLength(1)
  expect(lines.length).toBeLessThanOrEqual(5)
  await app.close()
  // What was held back is said at the end, with how often it happened.
  expect(records.at(-1)?.message).toMatch(/more like it in the last \d+s\)$/)
})

test.each([
  ['a wrong password', 'guarded:wrong', /password authentication failed/, 'User or password is wrong.'],
  ['no password', 'guarded', /password must be a string/, 'The server asks for a password, and the address has none.'],
])('%s rejects ready with what to do', async (_, user, message, hint) => {
  const file = join(server.dataDir as string, 'pg_hba.conf')
  const rules = readFileSync(file, 'utf8')
  writeFileSync(file, `host all guarded 127.0.0.1/32 scram-sha-256\n${rules}`)
  await server.restart()
  const { app, records } = appOn(server.url().replace(/\/\/[^@]*@/, `//${user}@`))
  const error = { name: 'RegrowError', code: 'store_refused', message: expect.stringMatching(message), hint }
  await expect(app.work().ready).rejects.toMatchObject(error)
  await app.close()
  expect(records).toEqual([])
  writeFileSync(file, rules)
})
