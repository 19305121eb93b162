// The SQLSTATE of an error, in the shapes that clients give it, and the kind that the store makes of it.
import { expect, test } from 'vitest'
import { RegrowError } from '../../../../../src/base/errors.ts'
import { adviceOn, classify, sqlState } from '../../../../../src/drivers/postgres/store/errors.ts'

const error = (more: object) => Object.assign(new Error('no'), more)

test.each([
  ['pg', error({ code: '23505' }), '23505'],
  ['Drizzle', error({ cause: error({ code: '40001' }) }), '40001'],
  ['TypeORM', error({ driverError: error({ code: '22P02' }) }), '22P02'],
  [
    'Prisma with an adapter',
    error({
      code: 'P2010',
      meta: { driverAdapterError: error({ cause: { originalCode: '23505', kind: 'postgres' } }) },
    }),
    '23505',
  ],
  ['Prisma with its engine', error({ code: 'P2010', meta: { code: '42P01', message: 'no such table' } }), '42P01'],
  ['an error of regrow that holds it', new RegrowError('store_away', 'away', '', error({ code: '57P01' })), '57P01'],
  ['a function that raises', error({ code: 'P0001' }), 'P0001'],
])('of %s', (_, thrown, state) => {
  expect(sqlState(thrown)).toBe(state)
})

const endless = error({})
Object.assign(endless, { cause: endless })

test.each([
  ['a socket', error({ code: 'EPIPE', syscall: 'write' })],
  ['a socket behind Prisma', error({ code: 'P2010', cause: error({ code: 'EPERM' }) })],
  ['Prisma itself', error({ code: 'P1001' })],
  ['an error that is its own cause', endless],
  ['what is no error', 'P0001'],
  ['nothing', null],
])('%s has none', (_, thrown) => {
  expect(sqlState(thrown)).toBeUndefined()
})

test.each([
  ['40P01', 'conflict'],
  ['40001', 'conflict'],
  ['55P03', 'lock_timeout'],
  ['57014', 'timeout'],
  ['22P02', 'bad_row'],
  ['23505', 'bad_row'],
  ['54000', 'bad_row'],
  ['P0001', 'bad_row'],
  ['42P01', 'mistake'],
  ['0A000', 'unsupported'],
  ['28P01', 'refused'],
  ['3D000', 'refused'],
  ['XX000', 'internal'],
  ['57P01', 'away'],
  ['53300', 'away'],
  ['25006', 'unknown'],
  ['ECONNRESET', 'away'],
  ['ENOTFOUND', 'unknown'],
  ['ERR_STREAM_DESTROYED', 'away'],
])('%s is of the kind %s', (code, kind) => {
  expect(classify(error({ code }))).toBe(kind)
  expect(classify(new Error('wrapped', { cause: error({ code }) }))).toBe(kind)
})

test('PgBouncer refuses with the state of a broken protocol', () => {
  expect(classify(Object.assign(new Error('no such database: nope'), { code: '08P01' }))).toBe('refused')
  expect(classify(Object.assign(new Error('query_wait_timeout'), { code: '08P01' }))).toBe('away')
})

test('a host with several addresses is away when one of them is', () => {
  expect(classify(new AggregateError([error({ code: 'ECONNREFUSED' }), error({ code: 'ENETUNREACH' })]))).toBe('away')
})

test('advice is known for refusals of the server and for servers that cannot be reached', () => {
  expect(adviceOn(error({ code: '28P01' }))).toBe('User or password is wrong.')
  expect(adviceOn(error({ code: 'ECONNREFUSED' }))).toContain('Nothing listens there')
  expect(adviceOn(error({ code: '22012' }))).toBeUndefined()
})

test.each([
  ['Connection terminated unexpectedly', 'away'],
  ['Client has encountered a connection error and is not queryable', 'away'],
  ['Client was closed and is not queryable', 'away'],
  ['Cannot use a pool after calling end on the pool', 'away'],
  ['PGlite is closed', 'away'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'refused'],
  ['The server does not support SSL connections', 'refused'],
  ['Cannot read properties of undefined', 'foreign'],
])('a client that says "%s" without a code: %s', (message, kind) => {
  expect(classify(new Error(message))).toBe(kind)
})

test.each([
  ['undefined', undefined],
  ['a text', 'no'],
  ['a mistake in a program', new TypeError('x is not a function')],
  ['an aggregate of nothing', new AggregateError([], 'many')],
])('%s is none of the store', (_, thrown) => {
  expect(classify(thrown)).toBe('foreign')
})
