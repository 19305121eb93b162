// What came of a run, and what that means: decided purely.

import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, decide, type History, type Outcome, type RetryPolicy, storable } from '../../../src/job/outcome.ts'

const middle = { float: () => 0.5 }
const policy: RetryPolicy = { attemptsMax: 3, backoff: 'exponential', backoffMs: 2_000, backoffMaxMs: 3_600_000 }
const fresh: History = { failures: 0, crashes: 0, together: null, ledgerVersion: null, version: null }
const failure = (error: unknown): Outcome => ({ kind: 'failure', error })
const decided = (history: Partial<History>, outcome: Outcome) =>
  decide({ ...fresh, ...history }, outcome, policy, middle)

describe('an outcome becomes a settlement', () => {
  test.each<[string, Partial<History>, Outcome, object]>([
    ['success leaves nothing', { failures: 2 }, { kind: 'success' }, { state: 'done' }],
    [
      'a first failure waits 2 s',
      {},
      failure('no'),
      { state: 'retrying', failures: 1, crashes: 0, retryMs: 2_000, error: 'no' },
    ],
    [
      'a second failure waits twice as long',
      { failures: 1 },
      failure('no'),
      { state: 'retrying', failures: 2, retryMs: 4_000 },
    ],
    [
      'the last attempt quarantines',
      { failures: 2 },
      failure('no'),
      { state: 'quarantined', failures: 3, error: 'no' },
    ],
    [
      'crashes are kept, and are no failures',
      { crashes: 5 },
      failure('no'),
      { state: 'retrying', failures: 1, crashes: 5 },
    ],
    [
      'again counts nothing',
      { failures: 1, crashes: 1 },
      { kind: 'again', inMs: 70 },
      { state: 'retrying', failures: 1, crashes: 1, retryMs: 70, error: null },
    ],
    [
      'quarantine keeps its reason',
      { failures: 1 },
      { kind: 'quarantine', reason: 'a person must look' },
      { state: 'quarantined', failures: 1, error: 'a person must look' },
    ],
    [
      'another version begins anew',
      { failures: 2, crashes: 4, ledgerVersion: '1', version: '2' },
      failure('no'),
      { state: 'retrying', failures: 1, crashes: 0, retryMs: 2_000 },
    ],
    [
      'the same version goes on',
      { failures: 2, ledgerVersion: '1', version: '1' },
      failure('no'),
      { state: 'quarantined', failures: 3 },
    ],
    [
      'without a version now, it goes on',
      { failures: 2, ledgerVersion: '1', version: null },
      failure('no'),
      { state: 'quarantined' },
    ],
    [
      'without a version then, it goes on',
      { failures: 2, ledgerVersion: null, version: '1' },
      failure('no'),
      { state: 'quarantined' },
    ],
  ])('%s', (_, history, outcome, expected) => {
    expect(decided(history, outcome)).toMatchObject(expected)
  })
})

test('the wait doubles up to its cap and is spread by a quarter at most', () => {
  const policies = fc.record({
    attemptsMax: fc.constant(20),
    backoff: fc.constantFrom('exponential' as const, 'fixed' as const),
    backoffMs: fc.integer({ min: 1, max: 100_000 }),
    backoffMaxMs: fc.integer({ min: 100_000, max: 10_000_000 }),
  })
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(policies, fc.integer({ min: 1, max: 1_000_000 }), chance, (policy, failures, float) => {
      const exact = Math.min(
        policy.backoffMs * (policy.backoff === 'fixed' ? 1 : 2 ** Math.min(failures - 1, 60)),
        policy.backoffMaxMs,
      )
      const wait = backoffMs(policy, failures, { float: () => float })
      expect(wait).toBeGreaterThanOrEqual(Math.round(exact * 0.75))
      expect(wait).toBeLessThanOrEqual(Math.round(exact * 1.25))
      expect(wait).toBe(Math.round(exact * (0.75 + 0.5 * float)))
    }),
  )
})

describe('the text of an error is stored', () => {
  const error = (thrown: unknown) => {
    const settlement = decided({}, failure(thrown))
    return 'error' in settlement ? settlement.error : undefined
  }
  const hostile = () => {
    const thrown = new Error('x')
    for (const name of ['stack', 'message'])
      Object.defineProperty(thrown, name, {
        get() {
          throw new Error('nothing to see')
        },
      })
    return thrown
  }
  const coded = (message: string, code: string) => Object.assign(new Error(message), { code })
  const refused = () => ['connect ::1:5432', 'connect 127.0.0.1:5432'].map((message) => coded(message, 'ECONNREFUSED'))
  const circle = () => {
    const [first, second] = [new Error('first'), new Error('second')]
    first.cause = second
    second.cause = first
    return first
  }
  const circular: Record<string, unknown> = {}
  circular.self = circular

  test.each<[string, () => unknown, RegExp]>([
    ['with its stack', () => new Error('it broke'), /^Error: it broke\n {4}at .*outcome\.test/],
    ['with its cause', () => new Error('outer', { cause: new Error('inner') }), /\ncaused by: inner$/],
    [
      'with a cause that has no text',
      () => new Error('outer', { cause: Object.create(null) }),
      /\ncaused by: \[object Object\]$/,
    ],
    ['of a text', () => 'just text', /^just text$/],
    ['of undefined', () => undefined, /^Thrown, but not an Error: undefined$/],
    ['of an object', () => ({ code: 7 }), /^Thrown, but not an Error: \{"code":7\}$/],
    ['of a circle', () => circular, /^Thrown, but not an Error: <ref \*1> \{ self: \[Circular \*1\] \}$/],
    ['of a bigint', () => 7n, /^Thrown, but not an Error: 7n$/],
    ['of an error whose getters throw', hostile, /^Error$/],
    ['with its code', () => coded('server said no', '23505'), /^Error: server said no \[23505\]\n {4}at /],
    ['of an error without a message', () => new TypeError(), /^TypeError\n {4}at /],
    [
      'of an aggregate without a message, with what it holds',
      () => Object.assign(new AggregateError(refused()), { code: 'ECONNREFUSED' }),
      /^AggregateError: connect ::1:5432; connect 127\.0\.0\.1:5432 \[ECONNREFUSED\]\n {4}at [\s\S]*\n- connect ::1:5432 \[ECONNREFUSED\]\n- connect 127\.0\.0\.1:5432 \[ECONNREFUSED\]$/,
    ],
    [
      'with causes of causes, and the codes of all',
      () =>
        new Error('outer', {
          cause: new TypeError('fetch failed', { cause: coded('socket closed', 'UND_ERR_SOCKET') }),
        }),
      /\ncaused by: TypeError: fetch failed\n {2}caused by: socket closed \[UND_ERR_SOCKET\]$/,
    ],
    [
      'with a cause that is an aggregate',
      () => new Error('no store', { cause: new AggregateError(refused()) }),
      /\ncaused by: AggregateError: connect ::1:5432; [\s\S]*\n {2}- connect ::1:5432 \[ECONNREFUSED\]\n/,
    ],
    ['with causes in a circle, each once', circle, /^Error: first\n[\s\S]*\ncaused by: second$/],
    ['with a cause whose getters throw', () => new Error('outer', { cause: hostile() }), /\ncaused by: Error$/],
    [
      'of an error of another realm',
      () => runInNewContext(`new Error('from afar', { cause: new Error('deep') })`),
      /^Error: from afar\n[\s\S]*caused by: deep$/,
    ],
    ['of an error whose stack is no text', () => Object.assign(new Error('x'), { stack: 7 }), /7|x/],
    [
      'of a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
      /./,
    ],
  ])('%s', (_, thrown, expected) => {
    expect(error(thrown())).toMatch(expected)
  })

  test('a reason for quarantine that is no text is told like an error', () => {
    const outcome = { kind: 'quarantine', reason: new Error('given as an error') } as unknown as Outcome
    expect(decided({}, outcome)).toMatchObject({
      state: 'quarantined',
      error: expect.stringContaining('given as an error'),
    })
  })

  test('with causes also when its own text is long, and no more than a dozen of them', () => {
    let cause = new Error('the root')
    for (let n = 0; n < 100; n++) cause = new Error(`link ${n}`, { cause })
    const text = error(new Error('x'.repeat(20_000), { cause })) as string
    expect(text.match(/caused by/g)).toHaveLength(12)
    expect(text).toContain('caused by: link 99')
  })

  test('without secrets', () => {
    expect(error('connect postgres://app:TOPSECRET@db failed')).toBe('connect postgres://app:[redacted]@db failed')
  })

  test.each(['a', 'ä', '€', '😀', 'a😀'])('in 8 KiB at most, ending in a whole character: %s', (piece) => {
    for (const extra of ['', 'b', 'bb', 'bbb']) {
      const stored = storable(extra + piece.repeat(20_000))
      const bytes = Buffer.byteLength(stored)
      expect(bytes).toBeLessThanOrEqual(8192)
      expect(bytes).toBeGreaterThan(8170)
      expect(stored.isWellFormed()).toBe(true)
      expect(stored).not.toContain('\uFFFD')
      expect(stored.endsWith('…')).toBe(true)
    }
  })

  test('as Postgres can hold it: no NUL, no lone surrogate', () => {
    expect(storable('a\0b\uD800c')).toBe('ab\uFFFDc')
  })

  test('text of 8 KiB is stored whole', () => {
    expect(storable('a'.repeat(8192))).toBe('a'.repeat(8192))
  })

  test('a secret at the cut does not slip through', () => {
    const stored = storable(`${'x'.repeat(8_150)} password="${'TOPSECRET'.repeat(50)}"`)
    expect(stored).not.toContain('TOPSECRET')
  })
})
