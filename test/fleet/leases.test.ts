// Edges of the lease with real processes on a real Postgres: event loops that stand still, a whole fleet that is stopped or
// killed at once, and many workers that share a process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Fleet, type WorkerProcess } from '../processes/fleet.ts'

let fleet: Fleet
const folder = mkdtempSync(join(tmpdir(), 'regrow-leases-'))

beforeAll(async () => {
  fleet = await Fleet.open('leases')
})
afterEach(() => fleet.clear())
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await fleet.close()
})

/** Resolves when these workers have started `count` different keys together. */
async function started(workers: readonly WorkerProcess[], count: number): Promise<void> {
  const all = () => new Set(workers.flatMap((worker) => worker.started())).size >= count
  await Promise.race(workers.map((worker) => worker.hears(all)))
}

test('a worker whose event loop stood still between check and start starts nothing late: another has run it', async () => {
  await fleet.fill(5)
  const until = join(folder, 'check')
  const still = fleet.start({ mode: 'hold', pool: 4, lease: '2s', block: { at: 'check', until } })
  await still.hears((told) => told.some(({ blocked }) => blocked))
  expect(await fleet.number(`select count(*) as n from regrow.ledger where holder is not null`)).toBe(5)
  const other = fleet.start({ mode: 'one', pool: 4, lease: '2s' })
  await other.hears((told) => told.some(({ freed }) => freed))
  await fleet.allDone()
  writeFileSync(until, '')
  await still.hears((told) => told.some(({ gone }) => gone))
  expect(still.started()).toEqual([])
  expect(await fleet.effects()).toEqual({ all: 5, keys: 5 })
})

test('a handler that blocks the event loop for leases makes none of its neighbours start late', async () => {
  await fleet.fill(5)
  const until = join(folder, 'handler')
  const still = fleet.start({ mode: 'hold', pool: 4, lease: '2s', block: { at: 'handler', until } })
  await still.hears((told) => told.some(({ blocked }) => blocked))
  expect(await fleet.number(`select count(*) as n from regrow.ledger where holder is not null`)).toBe(5)
  const other = fleet.start({ mode: 'one', pool: 4, lease: '2s' })
  await other.hears((told) => told.some(({ freed }) => freed))
  await fleet.allDone()
  writeFileSync(until, '')
  await still.hears((told) => told.some(({ gone }) => gone))
  expect(still.started()).toHaveLength(1)
  still.child.send('release')
  await still.hears((told) => told.filter(({ leaseLost }) => leaseLost).length === 5)
  expect(await fleet.effects()).toEqual({ all: 5, keys: 5 })
})

test('a fleet that is stopped as a whole for two leases and continued does everything once', async () => {
  await fleet.fill(200)
  const workers = [1, 2].map(() => fleet.start({ mode: 'hold', pool: 4, concurrency: 10, lease: '2s' }))
  await started(workers, 20)
  for (const worker of workers) worker.signal('SIGSTOP')
  await fleet.client.query(`select pg_sleep(4.5)`)
  for (const worker of workers) {
    worker.child.send('release')
    worker.signal('SIGCONT')
  }
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 200, keys: 200 })
  const [crashed] = (await fleet.client.query(`select max(crashes) as most from regrow.ledger`)).rows
  expect(crashed.most).toBeNull()
})

test('when all four workers are killed within a lease, those who come later run everything after two leases', async () => {
  await fleet.fill(40)
  const four = [1, 2, 3, 4].map(() => fleet.start({ mode: 'hold', pool: 3, concurrency: 10, lease: '2s' }))
  await started(four, 40)
  for (const worker of four) worker.kill()
  const heirs = [1, 2].map(() => fleet.start({ mode: 'hold', pool: 3, concurrency: 20, lease: '2s' }))
  await Promise.race(heirs.map((heir) => heir.ready()))
  const readyAt = performance.now()
  await started(heirs, 40)
  const seconds = (performance.now() - readyAt) / 1000
  console.log(`forty keys of four killed workers started again ${seconds.toFixed(1)} s after the next worker came`)
  // Nobody beat: one lease more, and then what freeing and starting take on a busy machine.
  expect(seconds).toBeLessThan(4 + 6)
  expect(await fleet.number(`select count(*) as n from regrow.ledger where crashes = 1`)).toBe(40)
  for (const heir of heirs) heir.child.send('release')
  await fleet.allDone()
  expect(await fleet.effects()).toEqual({ all: 40, keys: 40 })
})
