// guard 'none': every key is granted, nothing is settled. The check stays; what a person asked for stays, too.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`
    create table things (id text primary key, state text not null default 'pending');
    create table ledger_rows (at int);
    create function note() returns trigger language plpgsql as $$ begin insert into ledger_rows values (1); return new; end $$;
    create trigger note after insert or update on regrow.ledger for each row execute function note()`)

const pending = sql`select id from things where state = 'pending'`
const add = (...ids: string[]) =>
  world.query(`insert into things (id) select jsonb_array_elements_text($1)`, [JSON.stringify(ids)])
const count = async (from: string) => Number((await world.query(`select count(*) as n from ${from}`))[0]?.n)
const mark = (id: string) => world.query(`update things set state = 'done' where id = $1`, [id])

test('keys run without a row in the ledger, and what ctx.tx wrote is committed', async () => {
  const { app, ear } = world.app({ guard: 'none' })
  app.job('thing.make', {
    pending,
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
  })
  await add('a', 'b', 'c')
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
  expect(await count(`things where state = 'done'`)).toBe(3)
  expect(await count('ledger_rows')).toBe(0)
})

test('the check stays: what is not pending, or paused, does not start', async () => {
  const { app, ear } = world.app({ guard: 'none' })
  const job = app.job('thing.make', { pending, run: (id) => mark(id) })
  await world.work(app)
  await add('a', 'b')
  await mark('a')
  await job.enqueue('a')
  await world.until(() => ear.of('hint.refused', { key: 'a', why: 'not_pending' }).length > 0)
  await world.over(app.pause('thing.make', { reason: 'not now' }))
  await job.enqueue('b')
  await world.until(() => ear.of('hint.refused', { key: 'b', why: 'paused' }).length > 0)
  expect(ear.of('job.started')).toEqual([])
  await world.over(app.resume('thing.make'))
  await world.until(() => ear.of('job.settled', { key: 'b', state: 'done' }).length === 1)
})

test('an intent that was done is gone, whether its handler used ctx.tx or not', async () => {
  const { app, ear } = world.app({ guard: 'none' })
  const plain = app.job('mail.plain', { input: z.object({ n: z.number() }), run() {} })
  const inTx = app.job('mail.tx', { input: z.object({ n: z.number() }), run: (_, ctx) => ctx.tx(async () => {}) })
  await world.work(app)
  await world.over(plain.enqueue({ n: 1 }))
  await world.over(inTx.enqueue({ n: 2 }))
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
  expect(await count('regrow.intents')).toBe(0)
})

test('a failure is tried again, each time as the first; a run that threw keeps its intent', async () => {
  const { app, ear } = world.app({ guard: 'none' })
  const attempts: number[] = []
  const job = app.job('mail.fails', {
    input: z.object({ n: z.number() }),
    run(_, ctx) {
      attempts.push(ctx.attempt)
      if (attempts.length < 3) throw new Error('no')
    },
  })
  await world.work(app)
  await world.over(job.enqueue({ n: 1 }))
  await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 2)
  expect(await count('regrow.intents')).toBe(1)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  expect(attempts).toEqual([1, 1, 1])
  expect(await count('regrow.intents')).toBe(0)
})

test('what a handler puts into quarantine stays there: the sweep does not bring it back', async () => {
  const { app, ear } = world.app({ guard: 'none' })
  app.job('thing.make', { pending, sweep: { every: '5s' }, run: (_, ctx) => ctx.quarantine('a person has to look') })
  await add('a')
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
  await world.pass(30_000)
  expect(ear.of('job.started')).toHaveLength(1)
  expect((await world.over(operate(app).quarantine.list())).keys).toMatchObject([{ job: 'thing.make', key: 'a' }])
})

test('a guard that is none of them is a mistake, and says which there are', () => {
  const { app } = world.app({ guard: 'nope' as never })
  expect(() => app.work()).toThrow(`\`guard\` is "nope"; expected 'claim' or 'none'`)
})
