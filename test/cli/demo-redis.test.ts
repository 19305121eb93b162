// The demo with its queue in a Redis, as its readers run it: it loses nothing, and leaves that server as it was.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { redisCommand } from '../../tools/services/index.ts'
import { freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function start(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['scripts/start.mjs', ...args], { cwd: root, stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

test('--postgres and --redis: the queue in Redis is wiped, nothing is lost, and what others have there stays', async () => {
  const { url } = freshRedis()
  const database = await freshDatabase('demo_redis')
  const ofOthers = `somebody-${randomUUID()}`
  await redisCommand(url, 'SET', ofOthers, 'else')
  const { code, output } = await start('--seconds', '3', '--postgres', database.url, '--redis', url)
  expect(code, output).toBe(0)
  expect(output).toMatch(/^rows \d+, done \d+, .*quarantined 1, wipes 1, kills 1, lost 0$/m)
  expect(output).toMatch(/WIPED the queue: [1-9]\d* hints destroyed/)
  const [, namespace] = /namespace (regrow-demo-[0-9a-f]{8})\./.exec(output) ?? []
  expect(namespace).toBeDefined()
  expect(await redisCommand(url, 'KEYS', `{${namespace}}*`)).toEqual([])
  expect(await redisCommand(url, 'DEL', ofOthers)).toBe(1)
  await database.drop()
}, 120_000)

test('an address that is none is refused with code 2, a server that is not there with code 1; no password is told', async () => {
  const wrong = await start('--redis', 'http://ann:hunter2@127.0.0.1')
  expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining('expected redis://user:password@host:port') })
  const nowhere = await start('--redis', 'redis://ann:hunter2@127.0.0.1:1')
  expect(nowhere).toMatchObject({ code: 1, output: expect.stringContaining('Redis at 127.0.0.1:1 could not be used') })
  expect(wrong.output + nowhere.output).not.toContain('hunter2')
}, 60_000)
