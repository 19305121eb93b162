// The queue in Redis is tested on the server that is here; that an older one will do is read out of that server's own words.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { redisCommand } from '../../tools/services/index.ts'
import { freshRedis } from '../services/redis.ts'

const oldest = [6, 2]
const folder = join(import.meta.dirname, '../../src/drivers/redis')

/** Names of commands in the scripts (`call('X'`, `redis.pcall('X'`) and in what the client is sent (`['X', …`). */
function commands(): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(lua|ts)$/.test(name))
  const found = files.flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const pattern = name.endsWith('.lua') ? /call\('([A-Z]+)'/g : /\['([A-Z]+)',/g
    return [...text.matchAll(pattern)].map((match) => match[1] as string)
  })
  return [...new Set(found)].sort()
}

test('every command of the Redis queue is in Redis 6.2', async () => {
  const names = commands()
  for (const known of ['BLPOP', 'EVALSHA', 'EVAL', 'SMISMEMBER', 'RPUSH', 'UNLINK', 'ZMSCORE'])
    expect(names, `"${known}" is found in the source`).toContain(known)
  const docs = (await redisCommand(freshRedis().url, 'COMMAND', 'DOCS', ...names)) as unknown[]
  const since = new Map<string, string>()
  for (let i = 0; i < docs.length; i += 2) {
    const fields = docs[i + 1] as string[]
    since.set(String(docs[i]).toUpperCase(), fields[fields.indexOf('since') + 1] as string)
  }
  for (const name of names) {
    const [major = 99, minor = 0] = since.get(name)?.split('.').map(Number) ?? []
    const isOldEnough = major < (oldest[0] as number) || (major === oldest[0] && minor <= (oldest[1] as number))
    expect(isOldEnough, `${name} is there since ${since.get(name)}`).toBe(true)
  }
})
