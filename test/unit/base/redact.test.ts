// Secrets leave text before it is stored, logged or shown; hostile text cannot stall that.
import { afterEach, expect, test, vi } from 'vitest'
import { redact } from '../../../src/base/redact.ts'

afterEach(() => vi.restoreAllMocks())

const jwt = `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(43)}`
const pem = `-----BEGIN RSA PRIVATE KEY-----\n${'TOPSECRET\n'.repeat(30)}-----END RSA PRIVATE KEY-----`

test.each([
  ['connect postgres://app:TOPSECRET@db.example/x failed', 'connect postgres://app:[redacted]@db.example/x failed'],
  ['redis://:TOPSECRET@cache', 'redis://:[redacted]@cache'],
  ['Authorization: Bearer TOPSECRET.abc', 'Authorization: [redacted] [redacted]'],
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
])('%j becomes %j', (text, expected) => {
  expect(redact(text)).toBe(expected)
})

test('a private key that was cut off before its end is redacted to the end of the text', () => {
  expect(redact(`failed: ${pem.slice(0, 120)}`)).toBe('failed: [redacted key]')
})

test.each(['the row 17 is still pending', 'see https://example.org/a:b/c', 'column "passed" does not exist'])(
  '%j stays as it is',
  (text) => {
    expect(redact(text)).toBe(text)
  },
)

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
])('100 KB of %s pass', (_, piece) => {
  const text = piece.repeat(Math.ceil(100_000 / piece.length))
  expect(redact(text)).toEqual(expect.any(String))
})
