// Who holds a claim is a worker, not a process or a machine: workers of one process, its threads and its children each have an
// identity of their own and leave each other's claims alone.

import { Worker as Thread } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from '../flow/world.ts'
import { Fleet, fleetScript, type Told } from '../processes/fleet.ts'

let fleet: Fleet
const threads: Thread[] = []
beforeAll(async () => {
  fleet = await Fleet.open('identity')
})
afterAll(async () => {
  await Promise.all(threads.map((thread) => thread.terminate()))
  await fleet.close()
})

function thread(): { ready: Promise<void>; told: Told[] } {
  const settings = { url: fleet.url, mode: 'one', pool: 3 }
  const made = new Thread(fleetScript, { argv: [JSON.stringify(settings)], execArgv: ['--import', 'jiti/register'] })
  threads.push(made)
  const told: Told[] = []
  const ready = new Promise<void>((resolve, reject) => {
    made.on('error', reject)
    made.on('message', (message: Told) => {
      told.push(message)
      if (message.ready) resolve()
    })
  })
  return { ready, told }
}

test('two workers of one app, one of another, two threads and two children are seven holders, and each effect is once', async () => {
  const open = () => {
    const app = regrow({ store: postgres(fleet.url, { max: 3 }) })
    app.job('row.mark', {
      key: 'bigint',
      pending: sql`select id from rows where state = 'pending'`,
      sweep: { every: '5s' },
      run: (id, ctx) =>
        ctx.tx(async (tx) => {
          await tx.query(`insert into effects (id) values ($1)`, [id])
          await tx.query(`update rows set state = 'done' where id = $1`, [id])
        }),
    })
    return { app, ear: new Ear(app) }
  }
  const [one, two] = [open(), open()]
  const workers = [one.app.work(), one.app.work(), two.app.work()]
  const children = [1, 2].map(() => fleet.start({ mode: 'one', pool: 3 }))
  const twoThreads = [thread(), thread()]
  await Promise.all([
    ...workers.map(({ ready }) => ready),
    ...children.map((child) => child.ready()),
    ...twoThreads.map(({ ready }) => ready),
  ])
  const { rows } = await fleet.client.query(`select id, pid from regrow.workers`)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(7)
  expect(rows.filter(({ pid }) => pid === process.pid)).toHaveLength(5)
  for (const { id } of rows) expect(id).toMatch(/^[0-9a-f]{32}$/)
  await fleet.fill(500)
  await Promise.all([operate(one.app).sweep(), fleet.allDone()])
  expect(await fleet.effects()).toEqual({ all: 500, keys: 500 })
  const told = [...children, ...twoThreads].flatMap((each) => each.told)
  expect(told.filter(({ leaseLost, gone }) => leaseLost || gone)).toEqual([])
  for (const { ear } of [one, two]) expect([ear.of('job.lease_lost'), ear.of('worker.gone')]).toEqual([[], []])
  await Promise.all(workers.map((worker) => worker.stop()))
  await Promise.all([one.app.close(), two.app.close()])
})
