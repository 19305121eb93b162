// One row kills every process that runs it. It is found by running suspects alone and quarantined; the rows that were
// running beside it are not blamed, and what comes in meanwhile is served.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fleet, type WorkerProcess } from '../processes/fleet.ts'

let fleet: Fleet

beforeAll(async () => {
  fleet = await Fleet.open('isolation')
})
afterAll(() => fleet.close())

test('a row that kills its process is quarantined after two crashes and three alone; its 49 long-running neighbours all run', async () => {
  await fleet.fill(50)
  const processes: WorkerProcess[] = []
  let over = false
  let deaths = 0
  /** As a supervisor would: whoever dies is started again. */
  const keep = () => {
    const worker = fleet.start({ mode: 'poison', pool: 4, concurrency: 50, lease: '1s' })
    processes.push(worker)
    worker.child.on('exit', () => {
      if (over) return
      deaths++
      keep()
    })
  }
  keep()
  keep()
  while ((await fleet.number(`select count(*) as n from rows where state = 'pending'`)) > 1)
    await fleet.client.query(`select pg_sleep(0.1)`)
  while ((await fleet.number(`select count(*) as n from regrow.ledger where state = 'quarantined'`)) === 0)
    await fleet.client.query(`select pg_sleep(0.1)`)
  over = true

  const starts = processes.flatMap((worker) => worker.started()).filter((key) => key === '1').length
  console.log(`the poison row started ${starts} times, ${deaths} processes died`)
  expect(starts).toBe(5)
  expect(deaths).toBe(5)
  const { rows } = await fleet.client.query(`select key, crashes, solo_crashes, error from regrow.ledger`)
  expect(rows).toEqual([
    { key: '1', crashes: 5, solo_crashes: 3, error: 'The process died while this key ran alone, 3 of 3 times' },
  ])
  expect(await fleet.effects()).toEqual({ all: 49, keys: 49 })
}, 180_000)
