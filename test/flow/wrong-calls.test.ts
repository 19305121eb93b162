// Calls that the types would refuse, as callers in JavaScript make them: each is an error of regrow that says what it was given
// and what to give, never a TypeError from inside, and none of them repeats an address that may hold a password.
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { memory } from '../../src/drivers/memory/index.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { type App, type Handler, RegrowError, regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openPglite } from './world.ts'

let db: PGlite
beforeAll(async () => {
  db = await openPglite(`create table things (id text primary key)`)
})
afterAll(() => db.close())

const pending = sql`select id from things`
/** As JavaScript sees it. */
// biome-ignore lint/suspicious/noExplicitAny: wrong arguments are the point.
type Untyped = any

const appOf = (store: unknown, queue?: unknown) => regrow({ store, queue, log: false } as Untyped) as Untyped

/** What a call throws or rejects with. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  return undefined
}

async function expectError(call: () => unknown, code: string, says: RegExp, cure: RegExp): Promise<void> {
  const error = await errorOf(call)
  expect(error).toBeInstanceOf(RegrowError)
  const { message, hint } = error as RegrowError
  expect({ code: (error as RegrowError).code, message }).toEqual({ code, message: expect.stringMatching(says) })
  expect(`${message} ${hint}`).toMatch(cure)
}

const declarations: [string, (app: Untyped) => unknown, says: RegExp][] = [
  ["app.job('x')", (app) => app.job('x'), /job "x": the options are undefined; expected an object such as \{ pending/],
  ["app.job('x', fn)", (app) => app.job('x', () => {}), /job "x": the options are a function/],
  ["app.job('x', [])", (app) => app.job('x', []), /job "x": the options are an array/],
  ['app.job({ pending })', (app) => app.job({ pending }), /a name begins with a letter/],
  ['app.job(Symbol())', (app) => app.job(Symbol('x'), { pending }), /a name begins with a letter/],
  ['pending: null', (app) => app.job('x', { pending: null }), /job "x": A pending query cannot be read from null/],
  ["pending: ''", (app) => app.job('x', { pending: '' }), /job "x": A pending query cannot be read from string/],
  ['schedule: null', (app) => app.job('x', { schedule: null }), /job "x".*schedule/],
  ['input: null', (app) => app.job('x', { input: null }), /job "x": `input`/],
]

test.each(declarations)('%s is told with the mistakes in declarations', async (_, declare, says) => {
  const app = appOf(pglite(db))
  declare(app)
  await expectError(() => operate(app).status(), 'bad_declaration', says, /Mend them/)
})

const drivers: [string, () => unknown, () => unknown, says: RegExp][] = [
  [
    'postgres',
    () => postgres('postgres://h/d', { mx: 5 } as Untyped),
    () => undefined,
    /postgres\(\): .*"mx"; did you mean "max"\?/,
  ],
  [
    'postgres',
    () => postgres('postgres://h/d', { max: 0 }),
    () => undefined,
    /postgres\(\): `max` is 0; expected a whole number from 1/,
  ],
  [
    'postgres',
    () => postgres('postgres://h/d', 5 as Untyped),
    () => undefined,
    /postgres\(\): the options are a number/,
  ],
  [
    'postgres',
    () => postgres('postgres://h/d', null as Untyped),
    () => undefined,
    /postgres\(\): the options are null/,
  ],
  [
    'pglite',
    () => (pglite as Untyped)('./x', { max: 5 }),
    () => undefined,
    /pglite\(\): it takes a directory or a PGlite, and no options/,
  ],
  [
    'memory',
    () => pglite(db),
    () => memory({ maxHint: 5 } as Untyped),
    /memory\(\): .*"maxHint"; did you mean "maxHints"\?/,
  ],
  ['memory', () => pglite(db), () => memory({ maxHints: -1 }), /memory\(\): `maxHints` is -1/],
  [
    'redis',
    () => pglite(db),
    () => redis('redis://h', { namespac: 'x' } as Untyped),
    /redis\(\): .*"namespac"; did you mean "namespace"\?/,
  ],
  ['redis', () => pglite(db), () => redis('redis://h', null as Untyped), /redis\(\): the options are null/],
]

test.each(drivers)(
  'options of %s() that cannot be meant are told with the mistakes in declarations',
  async (_, store, queue, says) => {
    const app = appOf(store(), queue())
    await expectError(() => operate(app).status(), 'bad_declaration', says, /Mend them/)
    expect(() => app.work()).toThrow(says)
  },
)

const secret = 'hunter2'
const stores: [string, () => StoreDriver<never>, says: RegExp, cure: RegExp][] = [
  [
    "postgres('hello')",
    () => postgres('hello'),
    /not the address of a Postgres server/,
    /postgres:\/\/user:password@host/,
  ],
  ['an address without a scheme', () => postgres(`app:${secret}@host/x`), /not the address/, /postgres:\/\//],
  ['an address with one slash', () => postgres(`postgres:/app:${secret}@host/x`), /not the address/, /postgres:\/\//],
  [
    'mysql://',
    () => postgres(`mysql://app:${secret}@host/x`),
    /begins with mysql:\/\//,
    /keeps its tables in Postgres/,
  ],
  ['a slash in the password', () => postgres(`postgres://app:${secret}/x@host/d`), /cannot be read/, /%2F/],
  [
    'a url function that answers an object',
    () => postgres(() => ({ password: secret }) as Untyped),
    /an object as its address/,
    /DATABASE_URL/,
  ],
  [
    'the settings of a pool',
    () => postgres({ connectionString: `postgres://a:${secret}@h` } as Untyped),
    /neither a Pool nor a Client/,
    /new pg.Pool/,
  ],
  ['a number', () => postgres(5 as Untyped), /a number as its address/, /DATABASE_URL/],
  ['null', () => postgres(null as Untyped), /null as its address/, /DATABASE_URL/],
  ['pglite(postgres://…)', () => pglite(`postgres://app:${secret}@host/x`), /begins with postgres:\/\//, /directory/],
  ['pglite(user:password@host)', () => pglite(`app:${secret}@host/x`), /address of a server without/, /directory/],
  ['pglite({ dataDir })', () => pglite({ dataDir: 'x' } as Untyped), /an object instead of a directory/, /PGlite/],
  ['pglite(null)', () => pglite(null as Untyped), /null instead of a directory/, /directory/],
  ["pglite('')", () => pglite(''), /an empty text instead of a directory/, /directory/],
] as [string, () => Untyped, RegExp, RegExp][]

test.each(stores)('%s is refused with a cure, and without its password', async (_, store, says, cure) => {
  const app = appOf(store())
  app.job('thing.make', { pending, run() {} })
  await expectError(() => operate(app).status(), 'no_url', says, cure)
  const worker = app.work()
  await expectError(() => worker.ready, 'no_url', says, cure)
  const error = (await errorOf(() => operate(app).status())) as RegrowError
  expect(`${error.stack}${JSON.stringify(error.cause)}`).not.toContain(secret)
  await app.close()
})

test.each([
  ['an object', () => ({ password: secret })],
  ['a text without a scheme', () => `app:${secret}@host`],
])('a url function of redis() that answers %s is refused without its password', async (_, url) => {
  const surroundings = { clock: {}, identity: async () => 'x' } as Untyped
  const error = (await errorOf(() => redis(url as Untyped).open(surroundings))) as RegrowError
  expect(error.code).toBe('no_url')
  expect(`${error.stack}`).not.toContain(secret)
})

const thingOf = (app: Untyped) => app.job('thing.make', { pending })
const mailOf = (app: Untyped) => app.job('mail.send', { input: z.object({ to: z.string() }) })
const mail = { to: 'ann@example.org' }

const calls: [string, (app: Untyped) => unknown, says: RegExp, cure: RegExp][] = [
  [
    '{ tx } of a client without query',
    (app) => mailOf(app).enqueue(mail, { tx: { execute() {} } }),
    /`tx` of enqueue of "mail.send" has no function `query`/,
    /Wrap another client: \{ query/,
  ],
  [
    '{ tx } whose query is no function',
    (app) => mailOf(app).enqueue(mail, { tx: { query: {} } }),
    /has no function `query`/,
    /\{ rows \}/,
  ],
  [
    '{ tx: true }',
    (app) => mailOf(app).enqueue(mail, { tx: true }),
    /`tx` of enqueue of "mail.send" is a boolean/,
    /the client on which you opened the transaction/,
  ],
  [
    '{ tx: null }',
    (app) => thingOf(app).enqueue('a', { tx: null }),
    /`tx` of enqueue of "thing.make" is null/,
    /the client on which you opened the transaction/,
  ],
  [
    'a wrapper that answers an array',
    (app) => mailOf(app).enqueue(mail, { tx: { query: async () => [{ id: 1 }] } }),
    /answered an array without `rows`/,
    /rows: await/,
  ],
  [
    'a wrapper that answers nothing',
    (app) => mailOf(app).enqueueMany([mail, mail], { tx: { query() {} } }),
    /answered undefined without `rows`/,
    /rows: await/,
  ],
  [
    'options that are null',
    (app) => thingOf(app).enqueue('a', null),
    /options of enqueue of "thing.make" are null/,
    /jitter/,
  ],
  [
    'options that are a text',
    (app) => mailOf(app).enqueue(mail, '10m'),
    /options of enqueue of "mail.send" are a string/,
    /jitter/,
  ],
  [
    'enqueueMany of a number',
    (app) => thingOf(app).enqueueMany(5),
    /enqueueMany of "thing.make" was given a number/,
    /array/,
  ],
  ['enqueueMany of a text', (app) => thingOf(app).enqueueMany('abc'), /was given a string/, /enqueue/],
  ['enqueueMany of an object', (app) => mailOf(app).enqueueMany(mail), /was given an object/, /array/],
  ['enqueueMany of nothing', (app) => mailOf(app).enqueueMany(), /was given undefined/, /array/],
  [
    'handlers: [fn]',
    (app) => app.work({ handlers: [() => {}] }),
    /`handlers\[0\]` is a function; expected what job\.handle/,
    /start again/,
  ],
  [
    'handlers: [undefined]',
    (app) => app.work({ handlers: [undefined] }),
    /`handlers\[0\]` is undefined/,
    /start again/,
  ],
  ['handlers: {}', (app) => app.work({ handlers: {} }), /`handlers` is an object; expected an array/, /start again/],
  ['handlers: null', (app) => app.work({ handlers: null }), /`handlers` is null; expected an array/, /start again/],
  [
    'handlers: fn',
    (app) => app.work({ handlers: () => {} }),
    /`handlers` is a function; expected an array/,
    /start again/,
  ],
  [
    'handle()',
    (app) => app.work({ handlers: [thingOf(app).handle()] }),
    /handler of "thing.make" is undefined; expected a function/,
    /start again/,
  ],
  ['work(null)', (app) => app.work(null), /work\(\): the options are null/, /handlers/],
  [
    'work([handler])',
    (app) => app.work([thingOf(app).handle(() => {}) as Handler]),
    /work\(\): the options are an array/,
    /handlers/,
  ],
]

test.each(calls)('%s is refused with a cure', async (_, call, says, cure) => {
  const app = appOf(pglite(db)) as App
  await expectError(() => call(app), 'bad_options', says, cure)
  await app.close()
})

test('what a wrapper of another client answers with rows is enough', async () => {
  const app = appOf(pglite(db))
  const job = mailOf(app)
  const query = async (text: string, params: unknown[]) => ({ rows: (await db.query(text, params)).rows })
  await expect(job.enqueue(mail, { tx: { query } })).resolves.toMatchObject({ status: 'added' })
  // A pending job has nothing to write in it.
  await expect(thingOf(app).enqueue('a', { tx: { execute() {} } })).resolves.toMatchObject({ key: 'a' })
  await app.close()
})

test.each<[string, () => [unknown, unknown], RegExp]>([
  [
    'a store as the queue',
    () => [pglite(db), postgres('postgres://h/d')],
    /`queue` is the store `postgres`; expected what memory\(\) or redis\(url\) returns/,
  ],
  [
    'a queue as the store',
    () => [redis('redis://h'), undefined],
    /`store` is the queue `redis`; expected what postgres\(url\) or pglite/,
  ],
])('%s is told with the mistakes in declarations', async (_, drivers, says) => {
  const app = appOf(...drivers())
  await expectError(() => operate(app).status(), 'bad_declaration', says, /Mend them/)
  await expectError(() => app.transaction(async () => {}), 'bad_declaration', says, /Mend them/)
})

test('a transaction without a function is refused', async () => {
  const app = appOf(pglite(db))
  await expectError(
    () => app.transaction(),
    'bad_options',
    /transaction\(\): its argument is undefined/,
    /async \(tx\)/,
  )
  await expectError(() => app.transaction({}), 'bad_options', /is an object; expected a function/, /async \(tx\)/)
})

const answering = (validate: unknown) => ({ '~standard': { version: 1, vendor: 'mine', validate } })
const answers: [string, () => unknown, RegExp][] = [
  ['nothing', () => {}, /schema of "mail.send" answered undefined instead of a result/],
  ['nothing, later', async () => {}, /answered undefined instead of a result/],
  ['true', () => true, /answered true/],
  ['an object without a value', () => ({}), /answered an object/],
  ['issues that are no list', () => ({ issues: 'no' }), /answered an object/],
]

test.each(answers)('a schema that answers %s is told as that', async (_, validate, says) => {
  const app = appOf(pglite(db))
  const job = app.job('mail.send', { input: answering(validate) })
  await expectError(() => job.enqueue(mail), 'bad_schema', says, /has to return \{ value \}/)
  await app.close()
})

test('a schema without a function is a mistake in the declaration', async () => {
  const app = appOf(pglite(db))
  app.job('mail.send', { input: { '~standard': { version: 1 } } })
  await expectError(() => operate(app).status(), 'bad_declaration', /`input` is no Standard Schema/, /Mend them/)
})

test('a handler of a job of another app is refused', async () => {
  const [app, other] = [appOf(pglite(db)), appOf(pglite(db))]
  const handlers = [thingOf(other).handle(() => {})]
  const says =
    /`handlers\[0\]` is of a job "thing.make" of another app; expected a handler of a job that this app declares/
  await expectError(() => app.work({ handlers }), 'bad_options', says, /loaded twice\?/)
  // One of the same name is still another one: its pending query, key and retries are not those of this app.
  thingOf(app)
  await expectError(() => app.work({ handlers }), 'bad_options', says, /start again/)
})
