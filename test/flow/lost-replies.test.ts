// A statement was committed, but its caller got an error: nothing is held for ever, doubled, or counted that did not happen.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { App, Context } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { Faults } from '../sim/faults.ts'
import { openPglite, World } from './world.ts'

let db: PGlite
let world: World
let faults: Faults

beforeAll(async () => {
  db = await openPglite(`
    create table things (id text primary key, state text not null default 'pending');
    create table effects (id text not null, attempt int)`)
})
beforeEach(async () => {
  world = await World.begin(db, 'things', 'effects')
  faults = new Faults()
})
afterAll(() => db.close())

const open = () => world.app({ store: faults.store(world.store()) })
const declare = (app: App, run: (id: string, ctx: Context) => unknown, sweep: '20s' | '1h' = '1h') =>
  app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    retry: { delay: '5s' },
    sweep: { every: sweep },
    run,
  })
const add = (count: number) =>
  world.query(`insert into things (id) select 'k' || n from generate_series(1, $1::int) n`, [count])
const effect = (ctx: Context, id: string) =>
  ctx.tx(async (tx) => {
    await tx.query(`insert into effects values ($1, $2)`, [id, ctx.attempt])
    await tx.query(`update things set state = 'done' where id = $1`, [id])
  })
const effects = () => world.query(`select id, attempt from effects order by id`)
const ledger = () => world.query(`select key, state, failures, crashes, holder from regrow.ledger`)

describe('the reply of a take is lost', () => {
  test('its keys are given back by the next beat and run, nothing counted (M31)', async () => {
    const { app, ear } = open()
    const job = declare(app, (id, ctx) => effect(ctx, id))
    await world.work(app)
    await add(5)
    faults.loseReply('ledger.take')
    await job.enqueueMany(['k1', 'k2', 'k3', 'k4', 'k5'])
    await world.until(() => ear.of('loop.failed', { loop: 'claim', job: 'thing.make' }).length === 1)
    expect((await ledger()).filter(({ holder }) => holder !== null)).toHaveLength(5)
    // A beat is a fifth of the lease, and the hints are tried every second.
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 5, 5_000)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1])
    expect([ear.of('worker.freed'), ear.of('worker.gone'), await ledger()]).toEqual([[], [], []])
    expect(await effects()).toHaveLength(5)
  })

  test('a key that only the sweep knows runs with the next sweep', async () => {
    await add(1)
    faults.loseReply('ledger.take')
    const { app, ear } = open()
    declare(app, (id, ctx) => effect(ctx, id), '20s')
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 30_000)
    expect(ear.of('job.started')).toEqual([{ job: 'thing.make', key: 'k1', attempt: 1 }])
    expect(ear.of('worker.freed')).toEqual([])
  })

  test('what failed before keeps its count', async () => {
    const { app, ear } = open()
    const job = declare(
      app,
      (id, ctx) => {
        if (ctx.attempt === 1) throw new Error('the first time fails')
        return effect(ctx, id)
      },
      '20s',
    )
    await world.work(app)
    await add(1)
    await job.enqueue('k1')
    await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 1)
    faults.loseReply('ledger.take')
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 30_000)
    expect(ear.of('loop.failed', { loop: 'claim', job: 'thing.make' })).toHaveLength(1)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(await effects()).toEqual([{ id: 'k1', attempt: 2 }])
  })
})

describe('the reply of a settle is lost after its commit', () => {
  test('of a success: it ran once, and nothing is left of it', async () => {
    const { app, ear } = open()
    const job = declare(app, async (id) => {
      await world.query(`insert into effects values ($1)`, [id])
      await world.query(`update things set state = 'done' where id = $1`, [id])
    })
    await world.work(app)
    await add(1)
    faults.loseReply('ledger.settle')
    await job.enqueue('k1')
    await world.pass(10_000)
    expect(ear.of('job.started')).toHaveLength(1)
    expect(await effects()).toHaveLength(1)
    expect(await ledger()).toEqual([])
  })

  test('of an input job: its intent is gone, and it ran once', async () => {
    const { app } = open()
    const sent: string[] = []
    const job = app.job('mail.send', { input: z.string(), sweep: { every: '5s' }, run: (to) => void sent.push(to) })
    await world.work(app)
    faults.loseReply('ledger.settle')
    await job.enqueue('ada')
    await world.pass(10_000)
    expect(sent).toEqual(['ada'])
    expect([await world.query(`select * from regrow.intents`), await ledger()]).toEqual([[], []])
  })

  test('of a failure: it is counted once, and the key starts again after its back-off', async () => {
    const { app, ear } = open()
    const job = declare(
      app,
      (id, ctx) => {
        if (ctx.attempt === 1) throw new Error('the first time fails')
        return effect(ctx, id)
      },
      '20s',
    )
    await world.work(app)
    await add(1)
    faults.loseReply('ledger.settle')
    await job.enqueue('k1')
    await world.pass(1_000)
    expect(await ledger()).toMatchObject([{ state: 'retrying', failures: 1, crashes: 0, holder: null }])
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1, 30_000)
    expect(ear.of('job.started').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(await effects()).toEqual([{ id: 'k1', attempt: 2 }])
  })
})

describe('the reply of the COMMIT of ctx.tx is lost', () => {
  type Way = (id: string, ctx: Context) => Promise<unknown>
  const ways: Record<string, Way> = {
    'throws it': (id, ctx) => effect(ctx, id),
    'tries ctx.tx again': (id, ctx) => effect(ctx, id).catch(() => effect(ctx, id)),
    'says nothing of it': (id, ctx) => effect(ctx, id).catch(() => {}),
  }
  test.each(Object.entries(ways))('and the handler %s: one effect, no failure, done', async (_, way) => {
    const { app, ear } = open()
    const job = declare(app, way, '20s')
    await world.work(app)
    await add(1)
    faults.loseReply('transaction')
    await job.enqueue('k1')
    await world.pass(25_000)
    expect(await effects()).toEqual([{ id: 'k1', attempt: 1 }])
    expect(await ledger()).toEqual([])
    expect(await world.query(`select state from things`)).toEqual([{ state: 'done' }])
    expect(ear.of('job.started')).toHaveLength(1)
    expect(ear.of('job.settled').filter(({ state }) => state !== 'done')).toEqual([])
  })
})
