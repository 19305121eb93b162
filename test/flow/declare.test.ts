// An app opens nothing before first use, tells all mistakes at once, and waits for a store that is away.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memory } from '../../src/drivers/memory/index.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type AppOptions, type RegrowError, regrow, type StoreDriver, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Ear } from './world.ts'

/** Nobody listens on port 1. */
const nowhere = 'postgres://nobody@127.0.0.1:1/none'
const pending = sql`select id from things`

/** A store that tells when it is opened. */
function watched(): { store: StoreDriver; opened: () => number } {
  let opens = 0
  const driver = postgres(nowhere)
  return {
    opened: () => opens,
    store: {
      ...driver,
      open: (around) => {
        opens++
        return driver.open(around)
      },
    },
  }
}

test('an app with an unreachable store is made, given jobs and handlers, and nothing is opened or thrown', async () => {
  const { store, opened } = watched()
  let asked = 0
  const url = () => {
    asked++
    return nowhere
  }
  const app = regrow({ store })
  const rows = app.job('rows', { pending, run() {} })
  rows.handle(() => {})
  app.job('mails', { input: z.string(), batch: 100 }).handle(() => {})
  app.on('job.started', () => {})
  operate(app).jobs()
  regrow({ store: postgres(url), queue: memory() }).job('a', { pending })
  regrow({ store: postgres(undefined) })
  regrow({ store: pglite('/nowhere/at/all') })
  await app.close()
  expect([opened(), asked]).toEqual([0, 0])
})

test('the first use meets the environment: a hint is dropped and told, an intent is refused', async () => {
  const app = regrow({ store: postgres(nowhere) })
  const ear = new Ear(app)
  const rows = app.job('rows', { pending })
  const mails = app.job('mails', { input: z.string() })
  expect(await rows.enqueue('a')).toMatchObject({ status: 'dropped' })
  expect(ear.of('hint.dropped')).toMatchObject([{ count: 1, why: 'queue', error: { code: 'ECONNREFUSED' } }])
  const away = { code: 'store_away', cause: { code: 'ECONNREFUSED' } }
  await expect(mails.enqueue('ada')).rejects.toMatchObject(away)
  await expect(app.transaction(async () => {})).rejects.toMatchObject(away)
  await app.close()
})

test.each([undefined, '', () => ''])(
  'an address that is %o is refused at first use, with what it may be',
  async (given) => {
    const app = regrow({ store: postgres(given) })
    await expect(operate(app).migrate()).rejects.toMatchObject({
      code: 'no_url',
      message: expect.stringContaining('Set DATABASE_URL, or pass postgres://'),
    })
  },
)

test('a worker waits for a store that is away, says so, and can be stopped meanwhile', async () => {
  const app = regrow({ store: postgres(nowhere), log: false })
  const ear = new Ear(app)
  app.job('rows', { pending, run() {} })
  const worker = app.work()
  await ear.until(() => ear.of('loop.failed', { loop: 'open' }).length >= 2)
  await worker.stop()
  await expect(worker.ready).rejects.toMatchObject({ code: 'stopping' })
  const before = ear.of('loop.failed').length
  await new Promise((resolve) => setImmediate(resolve))
  expect(ear.of('loop.failed')).toHaveLength(before)
  await app.close()
})

test('a worker that finds a mistake does not wait', async () => {
  const app = regrow({ store: postgres('') })
  app.job('rows', { pending, run() {} })
  const worker = app.work()
  await expect(worker.ready).rejects.toMatchObject({ code: 'no_url' })
  await worker.stop()
})

const uses: [what: string, use: (app: App) => unknown][] = [
  ['enqueue', (app) => operate(app).jobs()[0]?.enqueue('x')],
  ['work', async (app) => app.work()],
  ['transaction', (app) => app.transaction(async () => {})],
  ['status', (app) => operate(app).status()],
  ['sweep', (app) => operate(app).sweep()],
  ['queue', (app) => operate(app).queue()],
]
test.each(uses)('%s tells all mistakes of all declarations at once, before anything is opened', async (_, use) => {
  const { store, opened } = watched()
  const app = regrow({ store, lease: 'long', leese: 1 } as unknown as AppOptions)
  app.job('one', { pending, timeuot: '5s' } as never)
  app.job('two', {} as never)
  const told: unknown = await Promise.resolve(use(app)).then(
    () => 'nothing',
    (error: unknown) => error,
  )
  expect(told).toMatchObject({ code: 'bad_declaration' })
  const { message } = told as Error
  for (const sentence of [
    'regrow found 4 mistakes',
    'regrow(): unknown option "leese"; did you mean "lease"?',
    'regrow(): `lease` is "long"',
    'job "one": unknown option "timeuot"; did you mean "timeout"?',
    'job "two": `pending` is missing',
  ])
    expect(message).toContain(sentence)
  expect(opened()).toBe(0)
})

test.each<[string, unknown, string]>([
  ['nothing at all', undefined, 'regrow(): `store` is missing: where is the truth?'],
  ['no store', {}, 'regrow(): `store` is missing: where is the truth?'],
  [
    'an address as store',
    { store: nowhere },
    'regrow(): `store` is a string; expected what postgres(url) or pglite(directory) returns',
  ],
  [
    'an object as queue',
    { store: postgres(nowhere), queue: {} },
    'regrow(): `queue` is an object; expected what memory()',
  ],
  [
    'a lease too short',
    { store: postgres(nowhere), lease: '100ms' },
    'regrow(): `lease` is 100 ms; expected a second at least',
  ],
])('%s is a mistake', async (_, options, sentence) => {
  const app = regrow(options as AppOptions)
  await expect(operate(app).status()).rejects.toThrow(sentence)
})

test('mistakes in the options of a worker are told at once', () => {
  const app = regrow({ store: postgres(nowhere) })
  const job = app.job('rows', { pending, run() {} })
  const start = () => app.work({ concurency: 5, concurrency: 0, handlers: [job.handle(() => {})] } as never)
  for (const sentence of [
    'work(): unknown option "concurency"; did you mean "concurrency"?',
    'work(): `concurrency` is 0; expected a whole number from 1',
    'work(): "rows" has two handlers',
  ])
    expect(start).toThrow(sentence)
})

describe('a choice of jobs that does not hold is refused, all mistakes at once', () => {
  const app = regrow({ store: postgres(nowhere) })
  app.job('email.welcome', { pending, run() {} })
  app.job('email.digest', { pending, run() {} })
  app.job('report.build', { pending })
  test.each<[choice: object, sentences: string[]]>([
    [
      { only: ['email.welcom', 'report.biuld'], except: ['frobnicate'] },
      [
        'work(): `only` names "email.welcom", and there is no such job; did you mean "email.welcome"?',
        'work(): `only` names "report.biuld", and there is no such job; did you mean "report.build"?',
        'work(): `except` names "frobnicate", and there is no such job; known are: email.welcome, email.digest, report.build',
      ],
    ],
    [
      { only: ['email.welcome', 'email.digest'], except: ['email.digest', 'email.welcome'] },
      [
        'work(): both `only` and `except` name "email.welcome"; leave it out of one of them',
        'work(): both `only` and `except` name "email.digest"; leave it out of one of them',
      ],
    ],
    [{ only: [] }, ['work(): `only` leaves no job; this worker has handlers of: email.welcome, email.digest']],
    [
      { except: ['email.welcome', 'email.digest'] },
      ['work(): `except` leaves no job; this worker has handlers of: email.welcome, email.digest'],
    ],
    [
      { only: 'report.build' },
      ['work(): `only` names "report.build", which has no handler here: give it a `run`, or pass its handler'],
    ],
    [
      { only: [7], except: { a: 1 }, onyl: 'a' },
      [
        'work(): unknown option "onyl"; did you mean "only"?',
        'work(): `only` holds a number; expected names of jobs',
        'work(): `except` holds an object; expected names of jobs',
      ],
    ],
  ])('%j', (choice, sentences) => {
    const told = (() => {
      try {
        app.work(choice)
      } catch (error) {
        return error as RegrowError
      }
    })()
    expect(told).toMatchObject({ code: 'bad_options' })
    expect(told?.message.split('\n').slice(0, -1)).toEqual(sentences)
  })

  test('to leave out a job that has no handler here is no mistake', () => {
    const other = regrow({ store: postgres(nowhere) })
    other.job('one', { pending, run() {} })
    other.job('two', { pending })
    const worker = other.work({ except: 'two' })
    expect(worker.jobs).toEqual(['one'])
    return worker.stop()
  })
})
