// Whoever reads an error gets an answer, whatever was thrown: a reader that throws takes a connection or a worker with it.
import { describe, expect, test } from 'vitest'
import { errorText } from '../../../src/base/error-text.ts'
import { codeOf, errorsIn, isErrorLike, messageOf, RegrowError, read } from '../../../src/base/errors.ts'
import { failureOf } from '../../../src/cli/failure.ts'
import { adviceOn, classify, sqlState } from '../../../src/drivers/postgres/store/errors.ts'
import { decide } from '../../../src/job/outcome.ts'
import { reasonOf, warningOf } from '../../../src/job/warnings.ts'
import { sentences } from '../../../src/operate/doctor/job-findings.ts'
import { connectionAdvice, isAway, isOutage, isUnreachable, refusal } from '../../../src/store/errors.ts'
import { hostileValues } from '../../hostile-values.ts'

const history = { failures: 0, crashes: 0, together: null, ledgerVersion: null, version: null }
const policy = { attemptsMax: 3, backoff: 'fixed', backoffMs: 1_000, backoffMaxMs: 1_000 } as const
const decided = (error: unknown) => decide(history, { kind: 'failure', error }, policy, { float: () => 0.5 })
const wrapped = (code: string) => (error: unknown) => new RegrowError(code, 'It could not be opened', '', error)

const readers: Readonly<Record<string, (error: unknown) => unknown>> = {
  messageOf,
  errorText,
  codeOf,
  isErrorLike,
  'errorsIn, of objects': (error) => (isErrorLike(error) ? [...errorsIn(error)].length < 100 : true),
  'read, of objects': (error) => (isErrorLike(error) ? [read(error, 'code')].length : 1),
  'instanceof RegrowError': (error) => error instanceof RegrowError,
  sqlState,
  classify,
  adviceOn,
  isUnreachable,
  connectionAdvice,
  'isAway, wrapped': (error) => isAway(wrapped('store_away')(error), classify),
  'isOutage, wrapped': (error) => isOutage(wrapped('url_failed')(error), classify),
  isAway: (error) => isAway(error, classify),
  refusal: (error) => refusal(error, adviceOn),
  reasonOf: (error) => reasonOf(error),
  'reasonOf, wrapped': (error) => reasonOf(wrapped('store_refused')(error)),
  'warningOf a failed loop': (error) =>
    warningOf('loop.failed', { loop: 'settle', error }, (each) => isOutage(each, classify)),
  failureOf,
  sentences: (error) => sentences(error, classify),
  decide: decided,
}

describe.each(Object.entries(readers))('%s', (_, reader) => {
  test.each(hostileValues)('reads $what', ({ make }) => {
    const from = performance.now()
    expect(() => reader(make())).not.toThrow()
    expect(performance.now() - from).toBeLessThan(5_000)
  })
})

test.each(hostileValues)('the failure that is recorded of $what has a text', ({ make }) => {
  const settlement = decided(make())
  expect(settlement).toMatchObject({ state: 'retrying', failures: 1 })
  const { error } = settlement as { error: string }
  expect(error).toMatch(/\S/)
  expect(Buffer.byteLength(error)).toBeLessThanOrEqual(8_192)
})

test('an error of regrow is one to instanceof, its subclasses are told apart, and a proxy of one is none', () => {
  class Own extends RegrowError {}
  const plain = new RegrowError('a', 'b', 'c')
  expect([plain instanceof RegrowError, plain instanceof Own]).toEqual([true, false])
  expect([new Own('a', 'b', 'c') instanceof RegrowError, new Own('a', 'b', 'c') instanceof Own]).toEqual([true, true])
  expect(new Proxy(plain, {}) instanceof RegrowError).toBe(false)
  expect(() => Object.defineProperty(plain, 'code', { get: () => 'other' })).toThrow(TypeError)
})

test('a chain of causes without end is followed as far as an error of a client is deep', () => {
  const error = new RegrowError('store_away', 'It broke', '')
  Object.assign(error, { cause: error })
  expect([isAway(error, classify), isOutage(error, classify)]).toEqual([false, false])
  const aggregate = new AggregateError([], 'many')
  aggregate.errors.push(aggregate, Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))
  expect([isUnreachable(aggregate), classify(aggregate)]).toEqual([true, 'away'])
})
