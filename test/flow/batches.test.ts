// Handlers of many keys: each key has its own outcome.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (id int primary key, state text not null default 'pending')`)

const pending = sql`select id from things where state = 'pending'`
const add = (count: number) => world.query(`insert into things (id) select generate_series(1, $1::int)`, [count])
const mark = (ids: readonly number[]) =>
  world.query(`update things set state = 'done' where id = any ($1::int[])`, [`{${ids.join(',')}}`])
const states = (told: readonly { key: string; state: string }[]) =>
  Object.fromEntries(told.map(({ key, state }) => [key, state]))

test('each key of a batch gets the outcome that the handler marks; the rest succeeds', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, retry: { delay: '1h' }, sweep: { every: '1h' }, batch: 100 })
  const batches: number[][] = []
  const keys: string[] = []
  const handler = job.handle(async (ids, ctx) => {
    batches.push(ids)
    keys.push(ctx.idempotencyKey(3))
    ctx.fail(2, new Error('only this one'))
    ctx.snooze(3, '1h')
    ctx.quarantine(4, 'a person must look')
    await mark([1, 5])
  })
  await world.work(app, { handlers: [handler] })
  await add(5)
  await job.enqueueMany([1, 2, 3, 4, 5])
  await world.until(() => ear.of('job.settled').length === 5)
  expect(batches.map((batch) => batch.sort())).toEqual([[1, 2, 3, 4, 5]])
  expect(keys).toEqual(['thing.many/3'])
  expect(states(ear.of('job.settled'))).toEqual({
    1: 'done',
    2: 'retrying',
    3: 'retrying',
    4: 'quarantined',
    5: 'done',
  })
  expect(await world.query(`select key, failures, error from regrow.ledger order by key`)).toEqual([
    { key: '2', failures: 1, error: expect.stringContaining('only this one') },
    { key: '3', failures: 0, error: null },
    { key: '4', failures: 0, error: 'a person must look' },
  ])
})

test('a `run` beside the declaration gets the batch as well, and no more keys than it may have', async () => {
  const { app, ear } = world.app()
  const batches: number[][] = []
  const job = app.job('thing.many', {
    key: 'int',
    pending,
    sweep: { every: '1h' },
    batch: 2,
    async run(ids, ctx) {
      batches.push(ids)
      await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = any ($1::int[])`, [ids as never]))
    },
  })
  await add(5)
  await job.enqueueMany([1, 2, 3, 4, 5])
  await world.work(app)
  await world.until(() => ear.of('job.settled', { state: 'done' }).length === 5)
  expect(batches.map(({ length }) => length).sort()).toEqual([1, 2, 2])
})

test('a batch that throws fails each of its keys, but for those that it had marked', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, retry: { delay: '1h' }, sweep: { every: '1h' }, batch: 100 })
  const handler = job.handle((_, ctx) => {
    ctx.quarantine(2, 'marked')
    throw new Error('the whole batch')
  })
  await world.work(app, { handlers: [handler] })
  await add(3)
  await job.enqueueMany([1, 2, 3])
  await world.until(() => ear.of('job.settled').length === 3)
  expect(states(ear.of('job.settled'))).toEqual({ 1: 'retrying', 2: 'quarantined', 3: 'retrying' })
})

test('ctx.tx settles the keys that are not marked, in one commit with their effects', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, retry: { delay: '1h' }, sweep: { every: '1h' }, batch: 100 })
  const handler = job.handle(async (ids, ctx) => {
    ctx.fail(2, 'not this one')
    const rest = ids.filter((id) => id !== 2)
    await ctx.tx((tx) =>
      tx.query(`update things set state = 'done' where id = any ($1::text::int[])`, [`{${rest.join(',')}}`]),
    )
    throw new Error('after the commit')
  })
  await world.work(app, { handlers: [handler] })
  await add(3)
  await job.enqueueMany([1, 2, 3])
  await world.until(() => ear.of('job.settled').length === 3)
  expect(states(ear.of('job.settled'))).toEqual({ 1: 'done', 2: 'retrying', 3: 'done' })
  expect(
    ear
      .of('job.threw_after_tx')
      .map(({ key }) => key)
      .sort(),
  ).toEqual(['1', '3'])
})

test('a second ctx.tx beside the first fails the keys that are not marked, and commits nothing', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, retry: { delay: '1h' }, sweep: { every: '1h' }, batch: 100 })
  const handler = job.handle(async (_, ctx) => {
    ctx.quarantine(2, 'marked')
    const done = () => ctx.tx((tx) => tx.query(`update things set state = 'done'`))
    await Promise.allSettled([done(), done()])
  })
  await world.work(app, { handlers: [handler] })
  await add(3)
  await job.enqueueMany([1, 2, 3])
  await world.until(() => ear.of('job.settled').length === 3)
  expect(states(ear.of('job.settled'))).toEqual({ 1: 'retrying', 2: 'quarantined', 3: 'retrying' })
  expect(await world.query(`select id from things where state <> 'pending'`)).toEqual([])
})

test('a key that is not in the batch cannot be marked', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, retry: { delay: '1h' }, batch: 100 })
  const handler = job.handle((_, ctx) => ctx.fail(99, new Error('whose?')))
  await world.work(app, { handlers: [handler] })
  await add(1)
  await job.enqueue(1)
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.of('job.settled')[0]?.error).toContain('The key 99 is not in this batch')
})

test('inputs come with the ids of their intents, by which they are marked', async () => {
  const { app, ear } = world.app()
  const job = app.job('mail.send', { input: z.object({ to: z.string() }), retry: { delay: '1h' }, batch: 100 })
  const sent: string[] = []
  const handler = job.handle((items, ctx) => {
    for (const { id, input } of items)
      if (input.to === 'bad') ctx.fail(id, new Error('no such address'))
      else sent.push(input.to)
  })
  await world.work(app, { handlers: [handler] })
  const { keys } = await job.enqueueMany(['ada', 'bad', 'bob'].map((to) => ({ to })))
  await world.until(() => ear.of('job.settled').length === 3)
  expect(sent.sort()).toEqual(['ada', 'bob'])
  expect(await world.query(`select id from regrow.intents`)).toEqual([{ id: keys[1] }])
})

test('one stored input that no longer fits the schema fails alone; its neighbours run', async () => {
  const before = world.app()
  const { keys } = await before.app
    .job('mail.send', { input: z.object({ to: z.string() }) })
    .enqueueMany(['a@b.example', 'bad', 'c@d.example'].map((to) => ({ to })))
  const { app, ear } = world.app()
  const job = app.job('mail.send', { input: z.object({ to: z.email() }), retry: { attempts: 1 }, batch: 100 })
  const sent: string[] = []
  const handler = job.handle((items) => {
    sent.push(...items.map(({ input }) => input.to))
  })
  await world.work(app, { handlers: [handler] })
  await world.until(() => ear.of('job.settled').length === 3)
  expect(sent.sort()).toEqual(['a@b.example', 'c@d.example'])
  expect(ear.of('job.settled', { state: 'quarantined' }).map(({ key }) => key)).toEqual([keys[1]])
})

test('a key that waits for another look and is enqueued again is one key of its batch', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.many', { key: 'int', pending, sweep: { every: '1h' }, batch: 100 })
  const batches: number[][] = []
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const handler = job.handle(async (ids) => {
    batches.push(ids)
    if (ids.includes(2)) await held
    await mark(ids)
  })
  await world.work(app, { concurrency: 1, handlers: [handler] })
  await job.enqueue(1)
  await world.until(() => ear.of('hint.refused', { why: 'not_pending' }).length === 1)
  await add(2)
  await job.enqueue(2)
  await world.until(() => ear.of('job.started', { key: '2' }).length === 1)
  // The only slot is taken: the first hint of 1 is due for its look, the second one waits in the queue.
  await job.enqueue(1)
  await world.pass(500)
  letGo()
  await world.until(() => ear.of('job.settled').length === 2)
  await world.pass(10_000)
  expect(batches).toEqual([[2], [1]])
  expect(ear.of('loop.failed')).toEqual([])
  expect(ear.of('hint.dropped')).toEqual([])
})
