// Inputs with `unique`: until when a second one is merged into the first, what runs afterwards, and what a crash or a failure leaves. On
// PGlite in virtual time; where transactions of several connections matter, on Postgres.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pledge } from '../../src/base/deferred.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type AppOptions, type Context, regrow } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear, openWorld } from '../flow/world.ts'
import { freshDatabase } from '../services/database.ts'

const world = openWorld('')

/** A job whose runs last until `letGo(input)`, and what started and ended in which order. */
function held(options: { uniqueUntil?: 'start' | 'success'; app?: Partial<AppOptions> } = {}) {
  const { app, ear } = world.app(options.app)
  const story: string[] = []
  const gates = new Map<string, ReturnType<typeof pledge>>()
  const gate = (input: string) => {
    const found = gates.get(input) ?? pledge()
    gates.set(input, found)
    return found
  }
  const job = app.job('digest.send', {
    input: z.string(),
    sweep: { every: '10s' },
    ...(options.uniqueUntil ? { uniqueUntil: options.uniqueUntil } : {}),
    async run(input) {
      story.push(`+${input}`)
      await gate(input).promise
      story.push(`-${input}`)
    },
  })
  return { app, ear, job, story, letGo: (input: string) => gate(input).resolve() }
}

const intents = () => world.query<{ id: string; input: string }>('select id, input from regrow.intents order by id')

describe('unique until its start', () => {
  test('an input that arrives while its predecessor runs is added, and runs after it', async () => {
    const { app, ear, job, story, letGo } = held()
    const first = await job.enqueue('one', { unique: 'ada' })
    expect(await job.enqueue('two', { unique: 'ada' })).toMatchObject({ key: first.key, status: 'merged' })
    await world.work(app)
    await world.until(() => story.length === 1)
    const second = await job.enqueue('three', { unique: 'ada' })
    expect(second.status).toBe('added')
    expect(second.key).not.toEqual(first.key)
    // Merged into the one that waits: it has not started.
    expect(await job.enqueue('four', { unique: 'ada' })).toMatchObject({ key: second.key, status: 'merged' })
    await world.pass(3_000)
    expect(story).toEqual(['+one'])
    letGo('one')
    letGo('three')
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    expect(story).toEqual(['+one', '-one', '+three', '-three'])
    expect(await intents()).toEqual([])
  })

  test('is what `uniqueUntil: "start"` says, and the default', async () => {
    const { app, job, story, letGo } = held({ uniqueUntil: 'start' })
    await job.enqueue('one', { unique: 'ada' })
    await world.work(app)
    await world.until(() => story.length === 1)
    expect(await job.enqueue('two', { unique: 'ada' })).toMatchObject({ status: 'added' })
    letGo('one')
    letGo('two')
    await world.until(() => story.length === 4)
  })

  test('inputs with other texts, or none, run beside it', async () => {
    const { app, job, story } = held()
    await job.enqueue('one', { unique: 'ada' })
    await job.enqueue('two', { unique: 'bob' })
    await job.enqueue('three')
    await world.work(app)
    await world.until(() => story.length === 3)
    expect([...story].sort()).toEqual(['+one', '+three', '+two'])
  })

  test('several of one batch run one after the other as well', async () => {
    const { app, ear } = world.app()
    const calls: string[][] = []
    const job = app.job('digest.send', { input: z.string(), retry: { delay: '1s', backoff: 'fixed' }, batch: 100 })
    const handler = job.handle((items, ctx) => {
      calls.push(items.map(({ input }) => input))
      for (const { id, input } of items) if (calls.length === 1) ctx.fail(id, new Error(`not yet ${input}`))
    })
    await job.enqueue('one', { unique: 'ada' })
    await world.work(app, { handlers: [handler] })
    await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 1)
    // Its retry and this one come due at the same time.
    await job.enqueue('two', { unique: 'ada', in: '1s' })
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    expect(calls.slice(1).flat().sort()).toEqual(['one', 'two'])
    expect(calls.every((inputs) => inputs.length === 1)).toBe(true)
  })

  test('a predecessor that failed gave its text up: both are there, and both run', async () => {
    const { app, ear } = world.app()
    const runs: string[] = []
    const job = app.job('digest.send', {
      input: z.string(),
      retry: { delay: '30s', backoff: 'fixed' },
      run(input, ctx) {
        runs.push(input)
        if (input === 'one' && ctx.attempt === 1) throw new Error('not yet')
      },
    })
    await job.enqueue('one', { unique: 'ada' })
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'retrying' }).length === 1)
    expect(await job.enqueue('two', { unique: 'ada' })).toMatchObject({ status: 'added' })
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    expect(runs).toEqual(['one', 'two', 'one'])
  })

  test('one in quarantine holds no text, and `find` still tells which it had', async () => {
    const { app, ear } = world.app()
    const job = app.job('digest.send', {
      input: z.string(),
      run: (input, ctx) => input === 'one' && ctx.quarantine('no'),
    })
    const { key } = await job.enqueue('one', { unique: 'ada' })
    await world.work(app)
    await world.until(() => ear.of('job.settled', { state: 'quarantined' }).length === 1)
    expect(await job.enqueue('two', { unique: 'ada' })).toMatchObject({ status: 'added' })
    await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
    expect(await operate(app).quarantine.show('digest.send', key)).toMatchObject({
      intent: { uniqueKey: 'ada' },
    })
  })

  test('with `guard: "none"` the text is given up, too', async () => {
    const { app, job, story, letGo } = held({ app: { guard: 'none' } })
    await job.enqueue('one', { unique: 'ada' })
    await world.work(app)
    await world.until(() => story.length > 0)
    expect(await job.enqueue('two', { unique: 'ada' })).toMatchObject({ status: 'added' })
    letGo('one')
    letGo('two')
    await world.until(() => story.includes('-two'))
  })

  test('inputs without `unique` start without a statement more', async () => {
    const { app, ear } = world.app()
    const asked: string[] = []
    const query = world.db.query.bind(world.db)
    world.db.query = ((text: string, ...rest: never[]) => {
      if (text.includes('started_key = n.unique_key')) asked.push(text)
      return query(text, ...rest)
    }) as typeof world.db.query
    try {
      const job = app.job('digest.send', { input: z.string(), run: () => {} })
      await world.work(app)
      await job.enqueueMany(['a', 'b', 'c'])
      await world.until(() => ear.of('job.settled', { state: 'done' }).length === 3)
      expect(asked).toEqual([])
      await job.enqueue('d', { unique: 'ada' })
      await world.until(() => ear.of('job.settled', { state: 'done' }).length === 4)
      expect(asked).toHaveLength(1)
    } finally {
      world.db.query = query as typeof world.db.query
    }
  })
})

test('unique until its success: merged while it runs, and the report says so', async () => {
  const { app, ear, job, story, letGo } = held({ uniqueUntil: 'success' })
  const first = await job.enqueue('one', { unique: 'ada' })
  await world.work(app)
  await world.until(() => story.length === 1)
  expect(await job.enqueue('two', { unique: 'ada' })).toEqual({ key: first.key, status: 'merged' })
  letGo('one')
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 1)
  await world.pass(15_000)
  expect(story).toEqual(['+one', '-one'])
  expect(await job.enqueue('three', { unique: 'ada' })).toMatchObject({ status: 'added' })
})

describe('on Postgres', () => {
  test('an input that an open transaction merged keeps its predecessor from starting before the commit', async () => {
    const database = await freshDatabase('unique')
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('create table notes (text text)')
    const app = regrow({ store: postgres(database.url) })
    const ear = new Ear(app)
    const seen: number[] = []
    const job = app.job('digest.send', {
      input: z.string(),
      async run(_, ctx: Context) {
        await ctx.tx(async (tx) => {
          const { rows } = await tx.query('select count(*)::int as count from notes')
          seen.push(Number(rows[0]?.count))
        })
      },
    })
    try {
      const { key } = await job.enqueue('one', { unique: 'ada', in: '1s' })
      await client.query('begin')
      await client.query(`insert into notes values ('two')`)
      expect(await job.enqueue('two', { unique: 'ada', tx: client })).toMatchObject({ key, status: 'merged' })
      const worker = app.work()
      await worker.ready
      await ear.hears('hint.refused', { key, why: 'not_due' })
      // Due, and refused since the other transaction is open.
      await ear.until(() => ear.of('hint.refused', { key, why: 'not_due' }).length >= 3)
      expect(ear.of('job.started')).toEqual([])
      await client.query('commit')
      await ear.hears('job.settled', { state: 'done' })
      expect(seen).toEqual([1])
      // It has started, so a transaction that comes later records work of its own.
      await client.query('begin')
      expect(await job.enqueue('three', { unique: 'ada', tx: client })).toMatchObject({ status: 'added' })
      await client.query('commit')
      await ear.until(() => ear.of('job.settled', { state: 'done' }).length === 2)
    } finally {
      await app.close()
      await client.end()
      await database.drop()
    }
  })
})
