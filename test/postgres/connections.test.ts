// Connections to Postgres break under a worker: all of them again and again, the only one, those of a pooler, the one that
// listens. It makes new ones.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { freshDatabase } from '../services/database.ts'
import { startProxy } from '../services/proxy.ts'
import { Scene } from './scene.ts'

describe.concurrent('connections are ended in the server', () => {
  test('all of them, three times under load: nothing is lost, and no effect is there twice', () =>
    Scene.play('cut_all', {}, async (scene) => {
      for (let i = 0; i < 3; i++) {
        await scene.insert(20)
        await Promise.all([scene.enqueue(40), scene.terminate()])
        await scene.note()
      }
      await scene.allDone()
      await scene.goesOn()
    }))

  test('the only one, of a pool of one: work goes on over the next', async () => {
    const pools: pg.Pool[] = []
    await Scene.play(
      'cut_one',
      {
        given: (url) => {
          const pool = new pg.Pool({ connectionString: url, max: 1 })
          pools.push(pool)
          return pool
        },
      },
      async (scene) => {
        for (let i = 0; i < 3; i++) await Promise.all([scene.enqueue(20), scene.terminate()])
        await scene.allDone()
        await scene.goesOn()
        // Ours and the one: nobody listens beside it.
        expect(
          await scene.query(
            `select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
          ),
        ).toHaveLength(2)
      },
    )
    await Promise.all(pools.map((pool) => pool.end()))
  })

  test('those that PgBouncer has: the worker keeps its own, and polls without LISTEN', async () => {
    const database = await freshDatabase('cut_pooled')
    await Scene.play(database, { given: () => database.bouncerUrl, every: '1h' }, async (scene) => {
      for (let i = 0; i < 3; i++) {
        await Promise.all([scene.enqueue(20), scene.terminate()])
        await operate(scene.app).sweep()
      }
      await scene.allDone()
      await scene.goesOn()
      expect(
        await scene.query(`select 1 from pg_stat_activity where datname = current_database() and query ~* '^listen'`),
      ).toEqual([])
    })
  })

  test('the one that listens, which stays open and says nothing: polls find what it does not tell, and it is made again', async () => {
    const database = await freshDatabase('cut_listen')
    const url = new URL(database.url)
    const proxy = await startProxy(Number(url.port))
    url.port = String(proxy.port)
    const other = regrow({ store: postgres(database.url) })
    const { enqueueMany } = other.job('thing.make', {
      key: 'int',
      pending: sql`select id from things where state = 'pending'`,
    })
    const listens = `select pid from pg_stat_activity
      where datname = current_database() and query ~ '^(listen regrow_hints|select 1$)' and pid <> all($1)`
    try {
      await Scene.play(database, { given: () => url.href, every: '1h' }, async (scene) => {
        const [before] = await scene.found(listens, [[]])
        expect(proxy.swallowThose('listen regrow_hints')).toBe(1)
        await enqueueMany(await scene.insert(8))
        await scene.allDone()
        await scene.found(listens, [[before?.pid]])
        await enqueueMany(await scene.insert(8))
        await scene.allDone()
        await other.close()
      })
    } finally {
      await proxy.close()
    }
  })
})
