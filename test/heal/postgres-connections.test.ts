// Connections to Postgres break under a worker: all of them again and again, the only one, those of a pooler. It makes new ones.
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { freshDatabase } from '../services/database.ts'
import { Scene } from './postgres-scene.ts'

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
        await scene.app.sweep()
      }
      await scene.allDone()
      await scene.goesOn()
      expect(
        await scene.query(`select 1 from pg_stat_activity where datname = current_database() and query ~* '^listen'`),
      ).toEqual([])
    })
  })
})
