// Schedules that are made at run time, on a real store in virtual time: what becomes of their slots when the job's work fails,
// takes long, or is paused.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World

beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key, state text not null default 'pending')`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things')
})
afterAll(() => db.close())

/** The slots of a schedule, oldest first: the time of day, state and reason. */
async function history(name: string) {
  const rows = await world.query<{ slot: Date; state: string; reason: string | null }>(
    `select slot, state, reason from regrow.slots where schedule = $1 order by slot`,
    [name],
  )
  return rows.map(({ slot, state, reason }) => [time(slot), state, reason].filter((cell) => cell !== null).join(' '))
}
const time = (at: Date) => at.toISOString().slice(11, 19)

test('a run that failed for good stays in quarantine, and the schedule goes on', async () => {
  const { app, ear } = world.app()
  let runs = 0
  const mail = app.job('mail', {
    input: z.object({}),
    retry: { attempts: 1 },
    run: () => {
      runs++
      if (runs === 3 || runs === 5) throw new Error('not this one')
    },
  })
  await world.work(app)
  await world.over(app.schedules.add('mail.often', { job: mail, input: {}, every: '10s' }))
  await world.until(() => runs === 7)
  await world.pass(100)
  expect((await history('mail.often')).slice(0, 7).map((line) => line.slice(9))).toEqual(Array(7).fill('ran'))
  expect(ear.of('job.settled', { job: 'mail', state: 'quarantined' })).toHaveLength(2)
  const { keys } = await world.over(app.quarantine.list({ job: 'mail' }))
  expect(keys).toHaveLength(2)
  expect(await world.query(`select id from regrow.intents`)).toHaveLength(2)
})

test('a schedule that this code cannot read is told, and those due at the same instant run', async () => {
  const { app, ear } = world.app()
  const sent: string[] = []
  const mail = app.job('mail', { input: z.object({ to: z.string() }), run: ({ to }) => void sent.push(to) })
  await world.work(app)
  for (const to of ['a', 'b', 'c'])
    await world.over(app.schedules.add(`mail.${to}`, { job: mail, input: { to }, cron: '*/5 * * * * *' }))
  await world.query(`update regrow.schedules set cron = '* * * * * * future' where name = 'mail.b'`)
  await world.pass(12_000)
  expect(sent.sort()).toEqual(['a', 'a', 'c', 'c'])
  expect(ear.of('loop.failed', { loop: 'schedule "mail.b"' })).not.toEqual([])
  expect(ear.of('loop.failed').every(({ loop }) => loop === 'schedule "mail.b"')).toBe(true)
  // Who can read it goes on with it.
  await world.query(`update regrow.schedules set cron = '*/5 * * * * *' where name = 'mail.b'`)
  await world.until(() => sent.includes('b'))
})

test('a hand-over that is tried again is no finding while a worker lives', async () => {
  const { app } = world.app()
  const mail = app.job('mail', { input: z.object({}), run() {} })
  const worker = await world.work(app)
  await world.over(app.schedules.add('mail.often', { job: mail, input: {}, every: '10s' }))
  await world.pass(12_000)
  await world.query(`insert into regrow.ledger (job, key, state, version, failures, crashes, retry_at, updated_at)
    values ('regrow.slots', 'mail.often@1@2026-01-01T00:00:20.000Z', 'retrying', null, 1, 0, regrow.clock() + interval '1 hour', regrow.clock())`)
  const codes = async () => (await world.over(app.health())).findings.map(({ code, job }) => `${code} ${job}`)
  expect(await codes()).toEqual([])
  await world.over(worker.stop({ grace: 0 }))
  expect(await codes()).toContain('no_handler regrow.slots')
})
