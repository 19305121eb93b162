// The user of docs/redis.md may do enough: a worker and whoever enqueues get on with these commands on these keys, and nothing
// of anybody else can be read.

import pg from 'pg'
import { expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { redis } from '../../src/drivers/redis/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { redisCommand, startRedis } from '../../tools/services/index.ts'
import { freshDatabase } from '../services/database.ts'
import { projectTexts } from './markdown.ts'

/** The words of the block, with its line ends escaped as a shell has them. */
function documentedRules(): string[] {
  const blocks = projectTexts()
    .flatMap(({ blocks }) => blocks)
    .filter(({ info }) => info === 'text acl')
  expect(blocks).toHaveLength(1)
  return (blocks[0]?.code ?? '').trim().split(/\s+/)
}

test('a worker works as the user of docs/redis.md, is refused nothing, and sees no other keys', async () => {
  const server = await startRedis()
  const database = await freshDatabase('redis_acl')
  const db = new pg.Client({ connectionString: database.url })
  await db.connect()
  try {
    await server.command(...documentedRules())
    await server.command('SET', 'secret', 'of somebody else')
    const url = `redis://shop:secret@127.0.0.1:${server.port}`
    await db.query(`create table orders (id int primary key, state text not null default 'paid')`)
    const app = regrow({ store: postgres(database.url), queue: redis(url, { namespace: 'shop' }) })
    const told: string[] = []
    app.on('queue.down', ({ error }) => void told.push(String(error)))
    const ship = app.job('order.ship', {
      key: 'int',
      pending: sql`select id from orders where state = 'paid'`,
      retry: { delay: '100ms' },
      run: async (id, ctx) => {
        if (ctx.attempt === 1 && id % 2 === 0) throw new Error('once')
        await ctx.tx((tx) => tx.query(`update orders set state = 'shipped' where id = $1`, [id]))
      },
    })
    let done = 0
    let heard = () => {}
    app.on('job.settled', ({ state }) => {
      if (state === 'done') done++
      heard()
    })
    const worker = app.work({ concurrency: 4 })
    await worker.ready
    await db.query(`insert into orders (id) select generate_series(1, 50)`)
    await ship.enqueueMany(
      Array.from({ length: 50 }, (_, i) => i + 1),
      { jitter: '200ms' },
    )
    while (done < 50)
      await new Promise<void>((resolve) => {
        heard = resolve
      })
    await operate(app).status()
    await worker.stop()
    await app.close()
    expect(told).toEqual([])
    expect(await server.command('ACL', 'LOG')).toEqual([])
    await expect(redisCommand(url, 'GET', 'secret')).rejects.toThrow('NOPERM')
    await expect(redisCommand(url, 'FLUSHALL')).rejects.toThrow('NOPERM')
  } finally {
    await db.end()
    await database.drop()
    await server.close()
  }
})
