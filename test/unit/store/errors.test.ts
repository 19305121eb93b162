// What is waited for when a store cannot be opened, and what ends the start.
import { expect, test } from 'vitest'
import { RegrowError } from '../../../src/base/errors.ts'
import { adviceOn, classify } from '../../../src/drivers/postgres/store/errors.ts'
import { isAway, refusal } from '../../../src/store/errors.ts'

const coded = (code: string, message = code, more: object = {}) => Object.assign(new Error(message), { code, ...more })
const storeAway = (cause: unknown) => new RegrowError('store_away', 'The connection could not be made', '', cause)

test.each([
  ['nothing listens', coded('ECONNREFUSED')],
  ['nothing listens on any address of the host', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')])],
  ['it takes too long', coded('ETIMEDOUT')],
  ['the name server does not answer', coded('EAI_AGAIN')],
  ['the socket is not there yet', coded('ENOENT', 'connect ENOENT /tmp/.s.PGSQL.5432', { syscall: 'connect' })],
  ['it is starting', coded('57P03', 'the database system is starting up')],
  ['it stops', coded('57P01')],
  ['it has no connection left', coded('53300')],
  ['a pooler waits for its server', coded('08P01', 'query_wait_timeout')],
  ['pg gave up connecting', new Error('timeout exceeded when trying to connect')],
  ['pg lost it', new Error('Connection terminated unexpectedly')],
  ['a wrapped one', storeAway(coded('ECONNRESET'))],
  ['a url function whose server is away', new RegrowError('url_failed', 'It threw', '', coded('ECONNREFUSED'))],
  ['no answer in time', new RegrowError('deadline', 'store.prepare did not answer', '')],
  [
    'an address that is fetched from a server that is away',
    new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }),
  ],
])('%s: waited for', (_, error) => {
  expect(isAway(error, classify)).toBe(true)
})

test.each([
  ['no such database', coded('3D000')],
  ['a wrong password', coded('28P01')],
  ['no entry in pg_hba.conf', coded('28000')],
  ['a right that is missing', coded('42501')],
  ['no such host', coded('ENOTFOUND')],
  ['a certificate that is not trusted', coded('SELF_SIGNED_CERT_IN_CHAIN')],
  ['a file of the address that is missing', coded('ENOENT', 'no such file', { syscall: 'open' })],
  ['an address that is none', coded('ERR_INVALID_URL')],
  ['a server without TLS', new Error('The server does not support SSL connections')],
  ['no password was given', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')],
  ['a pooler that does not know the database', coded('08P01', 'no such database: nope')],
  ['a wrapped one', storeAway(coded('28P01'))],
  ['a package that is missing', new RegrowError('missing_package', 'The package pg is not installed', '')],
  ['tables that are too old', new RegrowError('not_migrated', 'The database is too old', '')],
  ['a mistake in the function that answers the address', new TypeError('x is not a function')],
])('%s: ends the start', (_, error) => {
  expect(isAway(error, classify)).toBe(false)
})

test('the refusal has the cause and says what to do; an error of ours is the refusal itself', () => {
  const wrong = coded('28P01', 'password authentication failed for user "app"')
  for (const error of [wrong, storeAway(wrong)]) {
    const { code, message, hint, cause } = refusal(error, adviceOn)
    expect({ code, hint, cause }).toEqual({ code: 'store_refused', hint: 'User or password is wrong.', cause: wrong })
    expect(message).toContain('password authentication failed for user "app"')
  }
  const own = new RegrowError('not_migrated', 'The database is too old', 'Run it')
  expect(refusal(own, adviceOn)).toBe(own)
  expect(adviceOn(new AggregateError([coded('ECONNREFUSED')]))).toContain('Nothing listens there')
})
