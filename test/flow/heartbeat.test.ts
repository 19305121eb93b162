// The dead man's switch of a job, with a real server: it is called after each sweep that succeeded, and never in the way.

import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type App, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { type Ear, openPglite, World } from './world.ts'

const secret = 'k7-very-secret'
let db: PGlite
let world: World
let server: Server
let address: string
let answer: (response: ServerResponse) => void
const calls: string[] = []
let answers = 0
/** Built into Node: fetch has seen the head of an answer. */
subscribe('undici:request:headers', () => {
  answers++
  server.emit('answered')
})

beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null default 'pending')`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
  calls.length = 0
  answers = 0
  answer = (response) => void response.end('fine')
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`)
    server.emit('called')
    answer(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ping/${secret}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})
afterAll(() => db.close())

/** Real time, in which the world's stands still: so many calls have been answered, as the caller sees it. */
async function answered(times: number): Promise<void> {
  while (answers < times) await once(server, 'answered', { signal: AbortSignal.timeout(10_000) })
}

async function firstCall(): Promise<void> {
  if (calls.length === 0) await once(server, 'called', { signal: AbortSignal.timeout(10_000) })
}

const working = async (heartbeat = address) => {
  const made = world.app()
  made.app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '10s', heartbeat },
    async run(id, ctx) {
      await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
    },
  })
  return { ...made, worker: await world.work(made.app) }
}

/** Lets that many sweeps succeed, one by one: a call that is under way while time goes on would seem to take long. */
async function sweeps(ear: Ear, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const next = ear.of('sweep.passed').length + 1
    await world.until(() => ear.of('sweep.passed').length === next)
    await answered(next)
  }
}

test('it is called once after each sweep that succeeded, and not after one that failed', async () => {
  const { ear } = await working()
  await answered(1)
  await sweeps(ear, 3)
  await world.query('alter table things rename to other')
  await world.until(() => ear.of('sweep.failed').length >= 3)
  await world.query('alter table other rename to things')
  await sweeps(ear, 2)
  expect(calls).toEqual(Array(ear.of('sweep.passed').length).fill(`GET /ping/${secret}`))
  expect(ear.of('heartbeat.failed')).toEqual([])
})

describe('the address is in no event, row or answer', () => {
  async function nowhere(ear: Ear, app: App): Promise<void> {
    const tables = await world.query(
      `select row_to_json(w)::text as row from regrow.workers w union all select row_to_json(s)::text from regrow.sweeps s`,
    )
    const told = ear.of('heartbeat.failed').map(({ error }) => inspect(error, { depth: 5 }))
    expect(JSON.stringify([tables, told, await operate(app).health()])).not.toMatch(/k7-very-secret|127\.0\.0\.1|http:/)
  }

  test('when the server refuses', async () => {
    answer = (response) => void response.writeHead(503).end()
    const { ear, app } = await working()
    await answered(1)
    await sweeps(ear, 1)
    await world.until(() => ear.of('heartbeat.failed').length === 2, 5_000)
    expect(ear.of('heartbeat.failed')[0]).toEqual({
      job: 'thing.make',
      error: new Error('the heartbeat was answered with 503'),
    })
    await nowhere(ear, app)
  })

  test('when nobody is there', async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    const { ear, app } = await working()
    await ear.hears('heartbeat.failed')
    expect(ear.of('heartbeat.failed')[0]?.error).toEqual(new Error('the heartbeat could not be called: ECONNREFUSED'))
    await nowhere(ear, app)
  })
})

test('a server that never answers keeps nobody waiting, and is told after ten seconds', async () => {
  answer = () => {}
  const { ear, app } = await working()
  await firstCall()
  await world.query(`insert into things (id) values ('a')`)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 15_000)
  await world.until(() => ear.of('heartbeat.failed').length >= 1, 30_000)
  expect(ear.of('heartbeat.failed')[0]?.error).toEqual(new Error('the heartbeat was not answered in time'))
  expect(ear.of('sweep.failed')).toEqual([])
  expect(await operate(app).health()).toMatchObject({ healthy: true, findings: [] })
})

test('a worker stops while a call is under way', async () => {
  answer = () => {}
  const { worker } = await working()
  await firstCall()
  await world.over(worker.stop(), 5_000)
})
