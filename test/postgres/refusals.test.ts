// Postgres answers, and refuses: it is read-only, its tables are locked, or statements may take no time. It is told, nothing is
// lost, and when it is over the worker goes on by itself.
import { describe, expect, test } from 'vitest'
import { Scene } from './scene.ts'

/** What was told of trouble, whichever way it went. */
const troubles = ({ ear }: Scene) => [
  ...ear.of('loop.failed'),
  ...ear.of('hint.dropped'),
  ...ear.of('queue.down'),
  ...ear.of('sweep.failed'),
]

describe.concurrent('Postgres refuses for a while', () => {
  test('read-only, as one that is no longer the primary: new work is done when it can be written again', () =>
    Scene.play('read_only', {}, async (scene) => {
      const { rows } = await scene.admin.query(`select current_database() as name`)
      await scene.holding(24)
      await scene.query(`set default_transaction_read_only = off`)
      await scene.query(`alter database ${rows[0].name} set default_transaction_read_only = on`)
      await scene.terminate()
      scene.letGo()
      await scene.insert(10)
      expect(await scene.note()).toBe(false)
      await scene.until(() => scene.ear.of('loop.failed', { loop: 'beat' }).length > 1)
      await scene.query(`alter database ${rows[0].name} reset default_transaction_read_only`)
      await scene.allDone()
      await scene.goesOn()
    }))

  test('a lock on ledger, intents and workers for longer than a lease: nobody is declared dead', () =>
    Scene.play('locked', {}, async (scene) => {
      await scene.holding(24)
      await scene.query(`begin`)
      await scene.query(`lock table regrow.ledger, regrow.intents, regrow.workers in access exclusive mode`)
      scene.letGo()
      await scene.query(`select pg_sleep(3)`)
      await scene.query(`commit`)
      await scene.allDone()
      await scene.goesOn()
    }))

  test('a statement_timeout of 50 ms, and tables that are locked for longer than that', () =>
    Scene.play('timeout', {}, async (scene) => {
      const { rows } = await scene.admin.query(`select current_database() as name`)
      await scene.query(`set statement_timeout = 0`)
      await scene.query(`alter database ${rows[0].name} set statement_timeout = 50`)
      await scene.terminate()
      for (const table of ['ledger', 'intents', 'hints', 'ledger', 'sweeps']) {
        const enqueued = scene.enqueue(12)
        await scene.query(`begin`)
        await scene.query(`lock table regrow.${table} in access exclusive mode`)
        await scene.query(`select pg_sleep(0.4)`)
        await scene.query(`commit`)
        await enqueued
      }
      await scene.allDone()
      expect(troubles(scene)).not.toEqual([])
      await scene.query(`alter database ${rows[0].name} reset statement_timeout`)
      await scene.terminate()
      await scene.goesOn()
    }))
})
