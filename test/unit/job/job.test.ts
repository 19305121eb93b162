// Declarations: defaults filled in, and every mistake found and told at once.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type GivenOptions, readJob } from '../../../src/job/job.ts'
import { Registry } from '../../../src/job/registry.ts'
import { sql } from '../../../src/job/sql.ts'

const pending = sql`select id from things`
const input = z.object({ to: z.string() })

test('what is left out has its default', () => {
  const { job, mistakes } = readJob('database.create', { pending })
  expect(mistakes).toEqual([])
  expect(job).toMatchObject({
    name: 'database.create',
    key: { shape: 'text' },
    custom: null,
    input: null,
    retry: { attemptsMax: 20, backoff: 'exponential', backoffMs: 2_000, backoffMaxMs: 3_600_000 },
    timeoutMs: 900_000,
    concurrency: null,
    batch: null,
    uniqueUntil: 'start',
    sweepEveryMs: 60_000,
    sweepJitterMs: 0,
  })
})

test('what is given counts', () => {
  const { job, mistakes } = readJob('a', {
    key: { tenant: 'uuid', n: 'bigint' },
    pending,
    retry: { attempts: 3, backoff: 'fixed', delay: '1s', maxDelay: 5_000 },
    timeout: '10m',
    concurrency: 3,
    batch: 500,
    uniqueUntil: 'success',
    sweep: { every: '5m', jitter: '30m' },
  })
  expect(mistakes).toEqual([])
  expect(job).toMatchObject({
    key: { shape: { tenant: 'uuid', n: 'bigint' } },
    retry: { attemptsMax: 3, backoff: 'fixed', backoffMs: 1_000, backoffMaxMs: 5_000 },
    timeoutMs: 600_000,
    concurrency: 3,
    batch: 500,
    uniqueUntil: 'success',
    sweepEveryMs: 300_000,
    sweepJitterMs: 1_800_000,
  })
})

test('the key of an input job is the id of its intent', () => {
  expect(readJob('email', { input })).toMatchObject({
    mistakes: [],
    job: { key: { shape: 'uuid' }, query: null, input },
  })
})

const custom = { page: async () => [], isPending: async () => [] }
test('a custom source is no query', () => {
  expect(readJob('a', { pending: custom })).toMatchObject({ mistakes: [], job: { query: null, custom } })
})

describe('a mistake is one sentence', () => {
  const given = (options: object) => ({ pending, ...options })
  test.each<[string, string, object, string]>([
    ['no kind', 'a', {}, '`pending` is missing: which rows imply that this job should run?'],
    ['two kinds', 'a', { pending, input }, 'it has `pending` and `input`; a job has exactly one of them'],
    ['a name with a space', 'a b', given({}), 'a name begins with a letter'],
    ['an empty name', '', given({}), 'a name begins with a letter'],
    ['a name of 129 characters', 'a'.repeat(129), given({}), 'at most 128'],
    ['a misspelt option', 'a', given({ timeuot: '5s' }), 'unknown option "timeuot"; did you mean "timeout"?'],
    [
      'a misspelt option of retry',
      'a',
      given({ retry: { attemps: 3 } }),
      'unknown option "attemps"; did you mean "attempts"?',
    ],
    [
      'a misspelt option of sweep',
      'a',
      given({ sweep: { evry: '5m' } }),
      'unknown option "evry"; did you mean "every"?',
    ],
    [
      'sweep as a duration',
      'a',
      given({ sweep: '5m' }),
      '`sweep` is "5m"; expected an object such as { every: \'1m\' }',
    ],
    ['retry as a number', 'a', given({ retry: 3 }), '`retry` is 3; expected an object such as { attempts: 20 }'],
    ['a concurrency of nothing', 'a', given({ concurrency: 0 }), '`concurrency` is 0; expected a whole number from 1'],
    ['a concurrency in words', 'a', given({ concurrency: 'two' }), '`concurrency` is "two"; expected a whole number'],
    ['a batch of nothing', 'a', given({ batch: 0 }), '`batch` is 0; expected a whole number from 1'],
    ['a batch without a size', 'a', given({ batch: true }), '`batch` is true; expected a whole number from 1'],
    ['a batch of slots', 'a', { schedule: { every: '1h' }, batch: 5 }, 'each slot of a schedule is a call by itself'],
    ['a bad duration', 'a', given({ timeout: '5 minutes' }), '`timeout` is "5 minutes"'],
    ['a bad duration of sweep', 'a', given({ sweep: { every: -1 } }), '`sweep.every` is -1'],
    ['a bad duration of retry', 'a', given({ retry: { delay: 'x' } }), '`retry.delay` is "x"'],
    ['no attempts', 'a', given({ retry: { attempts: 0 } }), '`retry.attempts` is 0; expected a whole number from 1'],
    ['half an attempt', 'a', given({ retry: { attempts: 1.5 } }), '`retry.attempts` is 1.5'],
    [
      'another back-off',
      'a',
      given({ retry: { backoff: 'linear' } }),
      "`retry.backoff` is \"linear\"; expected 'exponential' or 'fixed'",
    ],
    [
      'another uniqueUntil',
      'a',
      given({ uniqueUntil: 'end' }),
      "`uniqueUntil` is \"end\"; expected 'start' or 'success'",
    ],
    [
      'another key type',
      'a',
      given({ key: 'number' }),
      "`key` is \"number\"; expected 'text', 'int', 'bigint', 'uuid', or an object of these",
    ],
    ['an empty composite key', 'a', given({ key: {} }), '`key` is {}'],
    ['a list as key', 'a', given({ key: ['text', 'int'] }), '`key` is ["text","int"]'],
    ['a key on an input job', 'a', { input, key: 'int' }, '`key` belongs to `pending` jobs'],
    ['an input that is no schema', 'a', { input: { to: 'string' } }, '`input` is no Standard Schema'],
    ['a run that is no function', 'a', given({ run: 'x' }), '`run` is no function'],
    [
      'a frozen date',
      'a',
      { pending: sql`select id from t where at < ${new Date(0)}` },
      'fixed at the time it was built',
    ],
    ['a heartbeat that is no address', 'a', given({ sweep: { heartbeat: 'hc.example/s3cret' } }), 'is no address'],
    ['a heartbeat of another protocol', 'a', given({ sweep: { heartbeat: 'ftp://hc.example' } }), 'is no address'],
    [
      'a heartbeat with a password',
      'a',
      given({ sweep: { heartbeat: 'https://u:s3cret@hc.example' } }),
      'has a user or password in it',
    ],
    ['a pending query that writes', 'a', { pending: sql`update t set x = 1` }, 'A pending query reads rows'],
  ])('%s', (_, name, options, sentence) => {
    const { mistakes } = readJob(name, options as GivenOptions)
    expect(mistakes).toHaveLength(1)
    expect(mistakes[0]).toContain(`job "${name}"`)
    expect(mistakes[0]).toContain(sentence)
    expect(mistakes[0]).not.toContain('s3cret')
  })
})

test('all mistakes of all jobs are told in one error', () => {
  const registry = new Registry()
  registry.declare('one', { pending, timeuot: 1, key: 'number' } as GivenOptions)
  registry.declare('two', {})
  registry.declare('three', { pending })
  registry.declare('three', { pending })
  registry.blame('regrow(): unknown option "stor"; did you mean "store"?')
  expect(() => registry.verify()).toThrow(
    expect.objectContaining({
      code: 'bad_declaration',
      message: [
        'regrow found 5 mistakes:',
        '  - job "one": unknown option "timeuot"; did you mean "timeout"?',
        `  - job "one": \`key\` is "number"; expected 'text', 'int', 'bigint', 'uuid', or an object of these`,
        '  - job "two": `pending` is missing: which rows imply that this job should run? (or `input`, for work that has no row; or `schedule`, for what recurs)',
        '  - job "three": declared twice; a name is the identity of one kind of work',
        '  - regrow(): unknown option "stor"; did you mean "store"?',
        '  → Mend them and start again.',
      ].join('\n'),
    }),
  )
})

test('declarations without a mistake are fine', () => {
  const registry = new Registry()
  const run = () => {}
  const job = registry.declare('one', { pending, run })
  expect(() => registry.verify()).not.toThrow()
  expect(registry.jobs()).toEqual([job])
  expect(registry.inlineHandlers()).toEqual([{ job, run }])
})
