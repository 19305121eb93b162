// Connections to Postgres end in the middle of a COMMIT: before it counts, or when it counts and nobody is told (F37). It is one
// of a push, of a settle, of an enqueue, of ctx.tx.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/services/index.ts'
import { type Place, Scene } from './scene.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: false } })
})
afterAll(() => server.close())

async function place(name: string): Promise<Place> {
  return { url: await server.createDatabase(name), drop: () => server.dropDatabase(name) }
}

/** An arbitrary number. */
const lock = 7_001

/** Every commit that wrote to the table waits for the lock, when all else is done and nothing counts yet. */
const waitsInCommit = (table: string, when: string) => `
  create constraint trigger waits_in_commit after ${when} on ${table} deferrable initially deferred
    for each row execute function waits_in_commit()`

/** `told`: what is told of it; a run that could not be recorded is nobody's failure, and just begins again. */
const commits = [
  { of: 'ctx.tx', table: 'effects', when: 'insert', every: '1h', told: null },
  { of: 'the settle of an input', table: 'regrow.intents', when: 'delete', every: '1h', told: null },
  { of: 'the enqueue of an input', table: 'regrow.intents', when: 'insert', every: '1h', told: null },
  { of: 'a push', table: 'regrow.hints', when: 'insert', every: '1s', told: 'hint.dropped' },
] as const

for (const { of, table, when, every, told } of commits)
  test(`a connection that ends while ${of} commits takes all of it back, and it is done again`, async () => {
    await Scene.play(await place('before'), { every }, async (scene) => {
      await scene.query(`
      create function waits_in_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock_shared(${lock}); return null; end $$`)
      await scene.query(waitsInCommit(table, when))
      await scene.query(`select pg_advisory_lock(${lock})`)
      const waiting = `wait_event = 'advisory'`
      const enqueued: Promise<void>[] = []
      for (let i = 0; i < 3; i++) {
        enqueued.push(scene.enqueue(8))
        await scene.found(`select 1 from pg_stat_activity where datname = current_database() and ${waiting}`)
        await scene.terminate(waiting)
      }
      await scene.query(`select pg_advisory_unlock(${lock})`)
      await Promise.all(enqueued)
      await scene.allDone()
      if (told) expect(scene.ear.of(told)).not.toEqual([])
      await scene.goesOn()
    })
  })

test('a connection that ends when its commit counts, but was not answered: no effect is there twice', async () => {
  await Scene.play(await place('after'), { every: '1h' }, async (scene) => {
    // A commit waits for a standby that is not there; who is ended then has committed, and is not told.
    const standby = (names: string) => [
      `alter system set synchronous_standby_names = '${names}'`,
      `select pg_reload_conf()`,
    ]
    await scene.holding(32)
    for (const each of standby('nobody')) await scene.query(each)
    scene.letGo()
    const unanswered = `wait_event = 'SyncRep'`
    let ended = 0
    while (ended < 12) {
      await scene.found(`select query from pg_stat_activity where datname = current_database() and ${unanswered}`)
      ended += await scene.terminate(unanswered)
    }
    for (const each of standby('')) await scene.query(each)
    await scene.allDone()
    await scene.goesOn()
  })
})
