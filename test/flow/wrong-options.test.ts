// An option that is misspelt, or of another type, is a setting that silently does not hold: a "dry" sweep that sweeps, a limit that is none.
// Every call says so, and does nothing.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { RegrowError, regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openPglite, reset, World } from './world.ts'

let db: PGlite
beforeAll(async () => {
  db = await openPglite(`create table things (id int primary key)`)
})
beforeEach(() => reset(db, 'things'))
afterAll(() => db.close())

/** As JavaScript sees it. */
// biome-ignore lint/suspicious/noExplicitAny: wrong arguments are the point.
type Untyped = any
/** Its mistakes are those that the types would catch. */
const asked = (app: Untyped): Untyped => operate(app)

function declared(options: object = {}) {
  const app: Untyped = regrow({ store: pglite(db), log: false, ...options } as Untyped)
  const things = app.job('thing.make', { key: 'int', pending: sql`select id from things` })
  const mail = app.job('mail.send', { input: z.any() })
  return { app, things, mail }
}

async function errorOf(call: () => unknown): Promise<RegrowError> {
  try {
    await call()
  } catch (error) {
    return error as RegrowError
  }
  throw new Error('it was accepted')
}

const calls: [string, (app: Untyped) => unknown, says: RegExp][] = [
  [
    'sweep({ dry })',
    (app) => asked(app).sweep({ dry: true }),
    /sweep\(\): unknown option "dry"; did you mean "dryRun"\?/,
  ],
  [
    "sweep({ dryRun: 'yes' })",
    (app) => asked(app).sweep({ dryRun: 'yes' }),
    /`dryRun` is "yes"; expected true or false/,
  ],
  [
    "sweep({ jobs: 'x' })",
    (app) => asked(app).sweep({ jobs: 'thing.make' }),
    /`jobs` is "thing.make"; expected an array/,
  ],
  ["sweep('thing.make')", (app) => asked(app).sweep('thing.make'), /the options are "thing.make"/],
  [
    'doctor({ job })',
    (app) => asked(app).doctor({ job: 'x' }),
    /doctor\(\): unknown option "job"; did you mean "jobs"\?/,
  ],
  ['doctor({ signal })', (app) => asked(app).doctor({ signal: true }), /`signal` is true; expected an AbortSignal/],
  [
    'coverage({ row })',
    (app) => asked(app).coverage({ row: {} }),
    /coverage\(\): unknown option "row"; did you mean "rows"\?/,
  ],
  ["coverage({ rows: 'x' })", (app) => asked(app).coverage({ rows: 'x' }), /`rows` is "x"; expected an object/],
  ['forget()', (app) => asked(app).forget(), /forget\(\): the job is undefined; expected a text/],
  [
    "forget({ force: 'no' })",
    (app) => asked(app).forget('old', { force: 'no' }),
    /`force` is "no"; expected true or false/,
  ],
  ['forget({ author: 5 })', (app) => asked(app).forget('old', { author: 5 }), /`author` is 5; expected a text/],
  ['pause()', (app) => app.pause(), /pause\(\): the job is undefined/],
  ['resume({ author: 5 })', (app) => app.resume('thing.make', { author: 5 }), /`author` is 5/],
  ['why()', (app) => asked(app).why(), /The job is undefined/],
  [
    'quarantine.list({ limit: -1 })',
    (app) => asked(app).quarantine.list({ limit: -1 }),
    /`limit` is -1; expected a whole/,
  ],
  [
    'quarantine.list({ limit: 5000 })',
    (app) => asked(app).quarantine.list({ limit: 5000 }),
    /whole number from 1 to 1000/,
  ],
  [
    'quarantine.list({ jobs })',
    (app) => asked(app).quarantine.list({ jobs: 'x' }),
    /unknown option "jobs"; did you mean "job"/,
  ],
  ["quarantine.list('x')", (app) => asked(app).quarantine.list('thing.make'), /the options are "thing.make"/],
  ['quarantine.count({ job: 5 })', (app) => asked(app).quarantine.count({ job: 5 }), /`job` is 5; expected a text/],
  ["quarantine.errors({ limit: 'x' })", (app) => asked(app).quarantine.errors({ limit: 'x' }), /`limit` is "x"/],
  [
    'quarantine.show(job, 4)',
    (app) => asked(app).quarantine.show('thing.make', 4),
    /the key is 4; expected a text as `list`/,
  ],
  [
    'release(job, 4)',
    (app) => asked(app).quarantine.release('thing.make', 4),
    /the keys are 4; expected a key as `list`/,
  ],
  [
    'release(job, [4])',
    (app) => asked(app).quarantine.release('thing.make', [4]),
    /keys\[0\] is 4; expected a text as `list`/,
  ],
  ['release(job)', (app) => asked(app).quarantine.release('thing.make'), /the keys are undefined/],
  [
    'release(job, { all: false })',
    (app) => asked(app).quarantine.release('thing.make', { all: false }),
    /the keys are an obj/,
  ],
  [
    'release(job, { al: true })',
    (app) => asked(app).quarantine.release('thing.make', { al: true }),
    /the keys are an object/,
  ],
  [
    'drop(job, { where: x })',
    (app) => asked(app).quarantine.drop('mail.send', { where: { eror: 'x' } }),
    /did you mean "error"/,
  ],
  [
    'drop({ autor })',
    (app) => asked(app).quarantine.drop('mail.send', 'x', { autor: 'ann' }),
    /did you mean "author"\?/,
  ],
  [
    'schedules.list({ limit: 0 })',
    (app) => asked(app).schedules.list({ limit: 0 }),
    /schedules.list\(\): `limit` is 0/,
  ],
  ['schedules.show({ slot })', (app) => asked(app).schedules.show('s', { slot: 5 }), /did you mean "slots"\?/],
  ['schedules.end({ autor })', (app) => asked(app).schedules.end('s', { autor: 'ann' }), /did you mean "author"\?/],
  ['schedules.run(name, null)', (app) => asked(app).schedules.run('s', null), /the options are null/],
  ["on('job.setled')", (app) => app.on('job.setled', () => {}), /no event "job.setled"; did you mean "job.settled"\?/],
  ['on(undefined)', (app) => app.on(undefined, () => {}), /no event undefined/],
  ["on('job.settled')", (app) => app.on('job.settled'), /listener of "job.settled" is undefined; expected a function/],
]

test.each(calls)('%s is refused', async (_, call, says) => {
  const { app } = declared()
  const error = await errorOf(() => call(app))
  expect(error).toBeInstanceOf(RegrowError)
  expect(error).toMatchObject({
    code: 'bad_options',
    message: expect.stringMatching(says),
    hint: expect.stringMatching(/./),
  })
  await app.close()
})

test('a sweep with a misspelt `dryRun` pushes nothing', async () => {
  const world = await World.begin(db, 'things')
  await world.query('insert into things values (1)')
  const { app, queue } = world.app()
  app.job('thing.make', { key: 'int', pending: sql`select id from things` })
  await expect(world.over(asked(app).sweep({ dry: true } as Untyped))).rejects.toMatchObject({ code: 'bad_options' })
  expect(await queue.count(['thing.make'])).toEqual(new Map([['thing.make', { due: 0, delayed: 0 }]]))
})

test("`migrate: 'no'` and a misspelt `batch` are told with the mistakes in declarations", async () => {
  const { app } = declared({ migrate: 'no' })
  await expect(asked(app).status()).rejects.toMatchObject({
    code: 'bad_declaration',
    message: expect.stringContaining('regrow(): `migrate` is "no"; expected true or false'),
  })
  const { app: other } = declared()
  other.job('thing.many', { pending: sql`select id from things`, bach: 5, run() {} })
  expect(() => other.work()).toThrow(/unknown option "bach"; did you mean "batch"\?/)
})

test('the name of one job is a choice of `only` and `except`', async () => {
  const { app, things, mail } = declared()
  const handlers = [things.handle(() => {}), mail.handle(() => {})]
  const only = app.work({ handlers, only: 'thing.make' })
  const except = app.work({ handlers, except: 'thing.make' })
  expect([only.jobs, except.jobs]).toEqual([['thing.make'], ['mail.send']])
  expect(() => app.work({ handlers, only: 'thing' })).toThrow(/`only` names "thing", and there is no such job; did you/)
  await app.close()
})

test('a stop with a grace that is none is refused, and the worker goes on', async () => {
  const { app, things } = declared()
  const worker = app.work({ handlers: [things.handle(() => {})] })
  await worker.ready
  await expect(worker.stop({ grace: 'soon' })).rejects.toMatchObject({
    code: 'bad_duration',
    message: expect.stringContaining('The `grace` of stop() is "soon"'),
  })
  await expect(worker.stop({ graze: '1s' })).rejects.toMatchObject({ message: expect.stringMatching(/mean "grace"\?/) })
  expect((await asked(app).status()).workers).toHaveLength(1)
  await app.close()
})

const inputs: [string, unknown, RegExp][] = [
  ['a function', () => {}, /input is a function/],
  ['a symbol', Symbol('x'), /input is a symbol/],
  ['a Map', new Map([['to', 'ann']]), /input is a Map/],
  ['a Map inside', { users: [new Map()] }, /input.users\[0\] is a Map/],
]

test.each(inputs)('%s as an input is refused, and nothing is stored', async (_, input, says) => {
  const { app, mail } = declared()
  const error = await errorOf(() => mail.enqueue(input))
  expect(error).toMatchObject({
    code: 'bad_input',
    message: expect.stringMatching(says),
    hint: expect.stringContaining('stored as JSON'),
  })
  await expect(mail.enqueueMany([{ to: 'ann' }, input])).rejects.toMatchObject({ code: 'bad_input' })
  expect((await db.query('select * from regrow.intents')).rows).toEqual([])
  await app.close()
})

test('a key that JSON cannot show is refused in words', async () => {
  const { app, things } = declared()
  for (const key of [{ id: 1n }, Symbol('x'), () => {}, new Map()])
    await expect(things.enqueue(key)).rejects.toMatchObject({ code: 'bad_key' })
  await app.close()
})

test('a misspelt option of ctx.tx and an object given to ctx.snooze fail the run, and commits nothing', async () => {
  const world = await World.begin(db, 'things')
  await world.query('insert into things values (1), (2)')
  const { app, ear } = world.app()
  app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things where id < 100`,
    retry: { attempts: 1 },
    async run(id: number, ctx: Untyped) {
      if (id === 2) ctx.snooze({ in: '5m' })
      await ctx.tx(sql`update things set id = id + 100 where id = ${id}`, { setle: false })
    },
  })
  await world.work(app)
  await world.until(() => ear.of('job.settled').length === 2)
  const told = ear.of('job.settled').map(({ key, state, error }) => ({ key, state, error: error?.split('\n', 1)[0] }))
  expect(told.sort((a, b) => Number(a.key) - Number(b.key))).toEqual([
    {
      key: '1',
      state: 'quarantined',
      error: expect.stringContaining('ctx.tx(): unknown option "setle"; did you mean "settle"?'),
    },
    {
      key: '2',
      state: 'quarantined',
      error: expect.stringContaining('The delay of ctx.snooze() is an object'),
    },
  ])
  expect(await world.query('select id from things order by id')).toEqual([{ id: 1 }, { id: 2 }])
  await world.over(app.close())
})

test('quarantine and fail without a reason say that there was none', async () => {
  const world = await World.begin(db, 'things')
  await world.query('insert into things values (1), (2), (3)')
  const { app, ear } = world.app()
  const many = app.job('thing.make', {
    key: 'int',
    pending: sql`select id from things`,
    retry: { attempts: 1 },
    batch: 100,
  })
  const handler = many.handle((ids: number[], ctx: Untyped) => {
    for (const id of ids)
      if (id === 1) ctx.quarantine(id)
      else if (id === 2) ctx.fail(id)
      else ctx.quarantine(id, '')
  })
  await world.work(app, { handlers: [handler] })
  await world.until(() => ear.of('job.settled').length === 3)
  const told = ear.of('job.settled').map(({ key, error }) => [key, error])
  expect(told.sort()).toEqual([
    ['1', 'ctx.quarantine() was called without a reason'],
    ['2', 'ctx.fail() was called without an error'],
    ['3', 'ctx.quarantine() was called without a reason'],
  ])
  await world.over(app.close())
})
