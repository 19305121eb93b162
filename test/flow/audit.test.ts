// The slow audit: what the ledger remembers of keys whose rows are long gone is forgotten, after a day and two looks.
import { expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id text primary key, state text not null default 'pending')`)

/** As if so many hours had passed for the ledger and the audits, and the sweep were due. */
const age = (hours: number) =>
  world.query(
    `with l as (update regrow.ledger set updated_at = updated_at - make_interval(hours => $1), unseen_at = unseen_at - make_interval(hours => $1))
     update regrow.sweeps set audited_at = audited_at - make_interval(hours => $1), next_at = regrow.clock()`,
    [hours],
  )
const remembered = async () =>
  (await world.query<{ key: string }>(`select key from regrow.ledger order by key`)).map(({ key }) => key)

test('rows of keys that are long not pending are forgotten by the second audit; pending and quarantined ones are kept', async () => {
  const { app, ear } = world.app()
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '10s' },
    run() {},
  })
  await world.query(`insert into things (id) values ('pending')`)
  await world.query(`insert into regrow.ledger (job, key, state, failures, retry_at, updated_at)
    select 'thing.make', key, state, 1, regrow.clock() + interval '1 year', regrow.clock()
    from (values ('gone1', 'retrying'), ('gone2', 'retrying'), ('pending', 'retrying'), ('bad', 'quarantined')) x(key, state)`)
  await world.work(app)
  const sweepsLater = async (count: number) => {
    const from = ear.of('sweep.passed').length
    await world.until(() => ear.of('sweep.passed').length >= from + count)
  }
  // Audited at the start: nothing is a day old. Sweeps before the next audit is due change nothing either.
  await age(25)
  expect(await remembered()).toEqual(['bad', 'gone1', 'gone2', 'pending'])
  await sweepsLater(1)
  expect(await world.query(`select key from regrow.ledger where unseen_at is not null order by key`)).toEqual([
    { key: 'gone1' },
    { key: 'gone2' },
  ])
  await sweepsLater(3)
  expect(await remembered()).toEqual(['bad', 'gone1', 'gone2', 'pending'])
  await age(7)
  await sweepsLater(1)
  expect(ear.of('ledger.audited')).toEqual([{ job: 'thing.make', forgotten: 2, kept: 0 }])
  expect(await remembered()).toEqual(['bad', 'pending'])
})

test('an audit whose check fails forgets nothing and does not fail the sweep', async () => {
  const { app, ear } = world.app()
  let broken = false
  app.job('thing.make', {
    pending: {
      page: async () => [],
      isPending: async () => {
        if (broken) throw new Error('no answer')
        return []
      },
    },
    sweep: { every: '10s' },
    run() {},
  })
  await world.query(`insert into regrow.ledger (job, key, state, failures, updated_at)
    select 'thing.make', key, 'retrying', 1, regrow.clock() from (values ('a'), ('b')) x(key)`)
  await world.work(app)
  broken = true
  await age(25)
  await world.until(() => ear.of('loop.failed', { loop: 'ledger_audit', job: 'thing.make' }).length === 1)
  const passed = ear.of('sweep.passed').length
  await world.until(() => ear.of('sweep.passed').length > passed)
  expect(ear.of('sweep.failed')).toEqual([])
  expect(await remembered()).toEqual(['a', 'b'])
})
