// The servers that every other test stands on: they answer, restart, recover from a crash, and never outlive the
// process that started them.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { redisCommand, startPgbouncer, startPostgres, startRedis } from '../../tools/services/index.ts'
import { freshDatabase } from './database.ts'
import { freshRedis } from './redis.ts'

const script = fileURLToPath(new URL('./starter.ts', import.meta.url))

async function one(url: string, text: string): Promise<Record<string, unknown> | undefined> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows[0]
  } finally {
    await client.end()
  }
}

test('a fresh database is empty and reached both directly and through the pooler', async () => {
  const database = await freshDatabase('services')
  await one(database.url, 'create table t as select 1 as n')
  expect(await one(database.bouncerUrl, 'select n, current_database() as name from t')).toEqual({
    n: 1,
    name: database.name,
  })
  await database.drop()
  await expect(one(database.url, 'select 1')).rejects.toThrow('does not exist')
})

test("a server of one's own keeps committed rows over fast, immediate and kill -9 restarts", async () => {
  const server = await startPostgres({ settings: { max_connections: 20 } })
  try {
    const url = await server.createDatabase('kept')
    await one(url, 'create table t (n int)')
    await one(url, 'insert into t values (1)')
    await server.restart('fast')
    await one(url, 'insert into t values (2)')
    await server.restart('immediate')
    await one(url, 'insert into t values (3)')
    await server.kill9()
    await expect(one(url, 'select 1')).rejects.toThrow()
    await server.start()
    expect(await one(url, `select sum(n)::int as sum, current_setting('max_connections') as max from t`)).toEqual({
      sum: 6,
      max: '20',
    })
  } finally {
    await server.close()
  }
  expect(existsSync(server.dataDir ?? '')).toBe(false)
})

test("the pooler hands a transaction's connection to the next client", async () => {
  const server = await startPostgres()
  const bouncer = await startPgbouncer({ postgres: server, settings: { default_pool_size: 1 } })
  try {
    const clients = [1, 2].map(() => new pg.Client({ connectionString: bouncer.url('postgres') }))
    for (const client of clients) await client.connect()
    const backends = await Promise.all(clients.map((client) => client.query('select pg_backend_pid() as pid')))
    expect(new Set(backends.map((result) => result.rows[0].pid)).size).toBe(1)
    for (const client of clients) await client.end()
  } finally {
    await bouncer.close()
    await server.close()
  }
})

test("a Redis of one's own loses everything by kill -9, keeps its dump when it saves, and stands still when paused", async () => {
  const server = await startRedis()
  try {
    await server.command('SET', 'kept', 'é')
    await server.command('SAVE')
    await server.command('SET', 'unsaved', 1)
    await server.restart()
    expect(await server.command('MGET', 'kept', 'unsaved')).toEqual(['é', null])
    await server.pause()
    let answered = false
    const answer = server.command('PING').finally(() => {
      answered = true
    })
    for (let i = 0; i < 20; i++) await redisCommand(freshRedis().url, 'PING')
    expect(answered).toBe(false)
    await server.resume()
    expect(await answer).toBe('PONG')
    rmSync(join(server.dataDir ?? '', 'dump.rdb'))
    await server.kill9()
    await expect(server.command('PING')).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await server.command('DBSIZE')).toBe(0)
  } finally {
    await server.close()
  }
  expect(existsSync(server.dataDir ?? '')).toBe(false)
})

test("a Redis replica has its master's keys and takes no writes; one with TLS answers no plain client", async () => {
  const master = await startRedis()
  await master.command('SET', 'name', 'master')
  const [replica, tls] = await Promise.all([startRedis({ replicaOf: master }), startRedis({ tls: true })])
  try {
    expect(await replica.command('GET', 'name')).toBe('master')
    await expect(replica.command('SET', 'name', 'replica')).rejects.toThrow('READONLY')
    expect(await tls.command('PING')).toBe('PONG')
    await expect(redisCommand(tls.url().replace('rediss:', 'redis:'), 'PING')).rejects.toThrow()
  } finally {
    await Promise.all([master, replica, tls].map((server) => server.close()))
  }
})

test.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
  'servers end and their data goes when the starter gets %s',
  async (signal) => {
    const starter = spawn(process.execPath, ['--import', 'jiti/register', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const line = await new Promise<string>((resolve, reject) => {
      starter.stdout.once('data', (chunk) => resolve(String(chunk)))
      starter.once('exit', () => reject(new Error('the starter ended before its servers were up')))
    })
    const { pids, dataDirs } = JSON.parse(line) as { pids: number[]; dataDirs: string[] }
    expect(pids.every(isAlive)).toBe(true)
    starter.kill(signal)
    await vi.waitFor(
      () => expect([pids.filter(isAlive), dataDirs.filter((folder) => existsSync(folder))]).toEqual([[], []]),
      {
        timeout: 15_000,
        interval: 50,
      },
    )
  },
)

/** Where nobody reaps orphans an ended process keeps its pid, in state Z. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat`
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'))
}
