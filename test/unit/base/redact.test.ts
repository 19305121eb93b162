// Secrets leave text before it is stored, logged or shown; hostile text cannot stall that.
import { inspect } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { redact } from '../../../src/base/redact.ts'
import { seededRandom } from '../../sim/seeded-random.ts'

afterEach(() => vi.restoreAllMocks())

const jwt = `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(43)}`
const pem = `-----BEGIN RSA PRIVATE KEY-----\n${'TOPSECRET\n'.repeat(30)}-----END RSA PRIVATE KEY-----`

test.each([
  ['connect postgres://app:TOPSECRET@db.example/x failed', 'connect postgres://app:[redacted]@db.example/x failed'],
  ['redis://:TOPSECRET@cache', 'redis://:[redacted]@cache'],
  ['postgres://app:TOP/SE@CR#ET?x=1@db.example/x', 'postgres://app:[redacted]@db.example/x'],
  ['postgres:/app:TOPSECRET@db.example/x', 'postgres:/app:[redacted]@db.example/x'],
  ['app:TOPSECRET@db.example/x', 'app:[redacted]@db.example/x'],
  ['pwd=TOPSECRET pass: TOPSECRET', 'pwd=[redacted] pass: [redacted]'],
  ['passphrase=TOPSECRET, private_key=TOPSECRET', 'passphrase=[redacted], private_key=[redacted]'],
  ['with sk_live_TOPSECRET and AKIATOPSECRET7EXAMP', 'with [redacted token] and [redacted token]'],
  ['Authorization: Bearer TOPSECRET.abc', 'Authorization: [redacted]'],
  ['Authorization: Digest user="a", response="TOPSECRET"', 'Authorization: [redacted]'],
  ['sent Basic VE9QU0VDUkVU', 'sent Basic [redacted]'],
  [`token was ${jwt}!`, 'token was [redacted token]!'],
  [`key ${pem} end`, 'key [redacted key] end'],
  ['{"password":"TOPSECRET","user":"ann"}', '{"password":[redacted],"user":"ann"}'],
  ['{"password":"TOP\\"SECRET","user":"ann"}', '{"password":[redacted],"user":"ann"}'],
  ["{ apiKey: 'TOPSECRET' }", '{ apiKey: [redacted] }'],
  ['X-Api-Key: TOPSECRET, next', 'X-Api-Key: [redacted], next'],
  ['client_secret=TOPSECRET&grant=x', 'client_secret=[redacted]&grant=x'],
  ['Cookie: theme=dark; sid=TOPSECRET\nHost: a', 'Cookie: [redacted]\nHost: a'],
  ['set-cookie: sid=TOPSECRET; Path=/', 'set-cookie: [redacted]'],
  ["alter role app password 'TOPSECRET'; select 1", 'alter role app password [redacted]; select 1'],
  [
    "create user app with encrypted PASSWORD   E'TOP''SECRET' login",
    'create user app with encrypted PASSWORD   [redacted] login',
  ],
  ["ALTER ROLE app PASSWORD = 'TOPSECRET'", 'ALTER ROLE app PASSWORD = [redacted]'],
  ["alter user app with password $x$TOP'SECRET$x$ login", 'alter user app with password [redacted] login'],
  ["create user 'app'@'%' identified by 'TOPSECRET'", "create user 'app'@'%' identified by [redacted]"],
  ["IDENTIFIED WITH caching_sha2_password BY 'TOPSECRET' x", 'IDENTIFIED WITH caching_sha2_password BY [redacted] x'],
  ["set password = password('TOPSECRET')", 'set password = [redacted]'],
  ['GET https://TOPSECRET@git.example/a.git failed', 'GET https://[redacted]@git.example/a.git failed'],
  ['git+https://TOPSECRET@git.example', 'git+https://[redacted]@git.example'],
  ['redis://a:TOPSECRET@one,redis://b:TOPSECRET@two', 'redis://a:[redacted]@two'],
  ['["redis://a:TOPSECRET@one","redis://b:TOPSECRET@two"]', '["redis://a:[redacted]@one","redis://b:[redacted]@two"]'],
  ['https://blob.example/x?sv=1&sig=TOPSECRET&se=2', 'https://blob.example/x?sv=1&sig=[redacted]&se=2'],
  ['https://blob.example/x?X-Amz-Signature=TOPSECRET&y=2', 'https://blob.example/x?X-Amz-Signature=[redacted]&y=2'],
  ['signature=TOPSECRET, auth=TOPSECRET', 'signature=[redacted], auth=[redacted]'],
  ['{"auth":"TOPSECRET"} ?auth=TOPSECRET', '{"auth":[redacted]} ?auth=[redacted]'],
  ['proxy-authorization: Basic VE9QU0VDUkVU', 'proxy-authorization: [redacted]'],
  ['"Authorization", "Basic VE9Q"', '"Authorization", "Basic [redacted]"'],
  ['X-Api-Key: TOPSECRET\nx-auth-key: TOPSECRET', 'X-Api-Key: [redacted]\nx-auth-key: [redacted]'],
])('%j becomes %j', (text, expected) => {
  expect(redact(text)).toBe(expected)
})

test('a private key that was cut off before its end is redacted to the end of the text', () => {
  expect(redact(`failed: ${pem.slice(0, 120)}`)).toBe('failed: [redacted key]')
})

test.each([
  'the row 17 is still pending',
  'see https://example.org/a:b/c',
  'column "passed" does not exist',
  'passed: 3, failed: 0',
  'password authentication failed for user "app"',
  'the job token.refresh failed, its key is user:ann@example.org',
  'at file:///app/node_modules/.pnpm/pg@8.16.3/node_modules/pg/lib/client.js:631:17',
  'see https://medium.example/@ann and https://example.org/?mail=ann@example.org',
  'connect to postgres://app@db.example/x failed',
  'auth: the server refused it',
  'the design=1 is signed',
  'column "password" and \'name\' are identified by their position',
  'at http://localhost:5173/node_modules/.pnpm/vue@3.5.0/dist/vue.js:3:4',
])('%j stays as it is', (text) => {
  expect(redact(text)).toBe(text)
})

/** Ways to write a secret into a text; each is given one that is made of the characters it may hold. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const shapes: readonly (readonly [characters: string, text: (secret: string) => string])[] = [
  ...[
    'password',
    'db_password',
    'passwd',
    'PGPASS',
    'dbPass',
    'pwd',
    'passphrase',
    'private_key',
    'privateKey',
  ].flatMap(
    (name) =>
      [
        [`${letters}/:@#?%+!$*.-_~^|`, (secret) => `${name}=${secret}`],
        // With a colon behind the comma it would be the name of the next value.
        [`${letters}/@#?%+!$*.-_~^|,;&`, (secret) => `${name}: ${secret} and more`],
        [`${letters} "'\\,;&{}[]()\n`, (secret) => JSON.stringify({ user: 'ann', [name]: secret, more: 1 })],
        [`${letters} '\\,;&{}[]()\n`, (secret) => JSON.stringify(JSON.stringify({ [name]: secret, more: 'b' }))],
        [`${letters} "'\\,;&{}[]()`, (secret) => inspect({ user: 'ann', [name]: secret, more: 1 })],
        [`${letters} ,;&`, (secret) => inspect(new Map([[name, secret]]))],
        [`${letters} ,;&`, (secret) => `Key (${name})=(${secret}) already exists.`],
        [`${letters}/:@#?%+!$*.-_~`, (secret) => `run --${name} ${secret} --more`],
        [`${letters} ,;&`, (secret) => `<${name}>${secret}</${name}>`],
      ] as [string, (secret: string) => string][],
  ),
  ...['postgres://', 'postgres:/', 'redis://', 'amqp+ssl://'].flatMap(
    (scheme) =>
      [
        [`${letters}/:@#?%+!$*.-_~^|,;&='`, (secret) => `${scheme}app:${secret}@db.example:5432/shop`],
        [
          `${letters}/:@#?%+!$*.-_~^|,;&='`,
          (secret) => JSON.stringify({ url: `${scheme}app:${secret}@db.example/shop` }),
        ],
      ] as [string, (secret: string) => string][],
  ),
  // Digits and a slash behind the first colon are the port of a web address.
  [`${letters}/:@#?%+!$*.-_~^|,;&='`, (secret) => `https://app:x${secret}@api.example/v1`],
  [`${letters}:@#?%+!$*.-_~^|,;&='`, (secret) => `connect app:${secret}@db.example/shop failed`],
  [`${letters}._~+/=-`, (secret) => `Authorization: Bearer ${secret}`],
  [`${letters}._~+/=-`, (secret) => `{ authorization: 'Token ${secret}' }`],
  [`${letters}._~+/=-`, (secret) => `sent bearer ${secret}`],
  [`${letters}abcdef`, (secret) => `key sk_live_${secret} is not valid`],
  [`${letters}abcdef`, (secret) => `stripe.sk_test_${secret}`],
  [letters, (secret) => `AKIA${secret} is not valid`],
  [`${letters}abcdef_-`, (secret) => `eyJhbGciOiJIUzI1NiJ9.eyJ${secret}.${secret}`],
  [`${letters}+/=\n`, (secret) => `-----BEGIN EC PRIVATE KEY-----\n${secret}\n-----END EC PRIVATE KEY-----`],
  [`${letters}+/=`, (secret) => JSON.stringify({ pem: `-----BEGIN KEY-----\n${secret}\n${secret}` })],
]

test('no part of a secret survives, whatever it holds and however it is written', () => {
  const seed = Number(process.env.REGROW_SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
  const random = seededRandom(seed)
  for (const [characters, write] of shapes)
    for (let i = 0; i < 20; i++) {
      const character = (from: string) => from[Math.floor(random.float() * from.length)] as string
      // It begins and ends with a letter: blanks there are no part of it.
      const middle = Array.from({ length: 14 + Math.floor(random.float() * 20) }, () => character(characters))
      const secret = [character(letters), ...middle, character(letters)].join('')
      const text = write(secret)
      const clean = redact(`before ${text}`)
      const parts = Array.from({ length: secret.length - 3 }, (_, at) => secret.slice(at, at + 4))
      // Chance may write a part of what is around it.
      const around = write('')
      const left = parts.filter((part) => /[A-Z2-9]{4}/.test(part) && clean.includes(part) && !around.includes(part))
      expect({ seed, text, clean, left }).toEqual({ seed, text, clean, left: [] })
      expect(clean.startsWith('before ')).toBe(true)
    }
})

/** The patterns, as `redact` really uses them. */
function patterns(): RegExp[] {
  const seen: RegExp[] = []
  const replace = vi.spyOn(String.prototype, 'replace')
  replace.mockImplementation(function (this: string, pattern: string | RegExp) {
    seen.push(pattern as RegExp)
    return String(this)
  } as typeof String.prototype.replace)
  redact('anything')
  replace.mockRestore()
  return seen
}

/** Quantifiers of a pattern without an upper bound; what stands in a character class is none. */
function unbounded({ source }: RegExp): string[] {
  const outside = source.replace(/\\./g, '_').replace(/\[[^\]]*\]/g, 'C')
  return outside.match(/[*+]|\{\d+,\}/g) ?? []
}

test('no pattern has an unbounded quantifier, so that the work per character of any text has a bound', () => {
  const used = patterns()
  expect(used.length).toBeGreaterThan(4)
  expect(used.map(unbounded)).toEqual(used.map(() => []))
  expect(unbounded(/a[+]\+(b|c)+d{2,}e*/)).toEqual(['+', '{2,}', '*'])
})

test.each([
  ['password=', 'password='],
  ['begins of keys', '-----BEGIN A-----'],
  ['begins of tokens', 'eyJ-'],
  ['half urls', 'ab://c:'],
  ['spaces after bearer', `bearer${' '.repeat(1_000)}`],
  ['open quotes', `secret="\\`],
  ['open brackets', 'secret=('],
  ['escaped quotes', 'token\\"=\\"'],
  ['commas', 'password=,'],
  ['half addresses', 'ab:c@d'],
  ['begins of addresses', '://'],
  ['begins of addresses behind an @', '://a', '@'],
  ['web addresses', 'http://'],
  ['flags', '--token'],
  ['quotes behind a word', "password '"],
  ['names behind a password', 'identified with x '],
])('50 KB of %s take no longer per character than a few of them', (_, piece, end = '') => {
  const text = piece.repeat(Math.ceil(50_000 / piece.length))
  const from = performance.now()
  expect(redact(text + end)).toEqual(expect.any(String))
  // The quickest of these takes 1 ms; one whose time is the square of the length takes seconds.
  expect(performance.now() - from).toBeLessThan(500)
})

test('ten million characters are cut to what a person may read, and the cut leaves nothing of a secret', () => {
  const text = `password=TOPSECRET ${'x '.repeat(32_700)} token=${'TOPSECRET'.repeat(1_000_000)}`
  const from = performance.now()
  const clean = redact(text)
  expect(performance.now() - from).toBeLessThan(500)
  expect(clean).toMatch(/^password=\[redacted\] .*… \(9\d{6} more characters\)$/)
  expect(clean).not.toContain('TOPS')
})
