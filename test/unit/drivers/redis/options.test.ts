// What redis() is given: mistakes are told at first use, all at once, and in words.
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.ts'
import { type RedisGiven, type RedisOptions, redis } from '../../../../src/drivers/redis/index.ts'

const surroundings = { clock: systemClock, identity: async () => 'a store' }
const open = (given: unknown, options: object = {}) =>
  redis(given as RedisGiven, options as RedisOptions).open(surroundings)

test.each([
  [undefined, 'undefined'],
  ['', 'an empty text'],
  [() => '', 'an empty text'],
  [null, 'null'],
  ['localhost:6379', 'no address'],
  ['postgres://localhost', 'no address'],
  [{}, 'no Redis client'],
])('an address that is none is told: %s', async (given, told) => {
  await expect(open(given)).rejects.toMatchObject({ code: 'no_url', message: expect.stringContaining(told) })
})

test('an address that is refused is not repeated: it may hold a password', async () => {
  const error = await open('http://user:secret@host').catch((thrown: Error) => thrown)
  expect(String(error)).not.toContain('secret')
})

test('every mistake in the options is told, an unknown one with a guess', async () => {
  const error = open('redis://127.0.0.1:1', { namespce: 'x', namespace: 'a{b}', shards: 0, maxHints: 1.5 })
  await expect(error).rejects.toMatchObject({ code: 'bad_options' })
  const { message } = (await error.catch((thrown: Error) => thrown)) as Error
  for (const told of ['did you mean "namespace"', '`namespace` has to be', '`shards` is 0', '`maxHints` is 1.5'])
    expect(message).toContain(told)
})
