// Races of the migration: who waits for another's must see, when his turn comes, that the work is done.
import pg from 'pg'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { migrate } from '../../src/drivers/postgres/store/migrations/migrate.ts'
import { freshDatabase } from '../services/database.ts'

test('a process that waited while another migrated sees the new schema, though it looked before on the same connection', async () => {
  const database = await freshDatabase('race_migrate')
  const clients = [0, 1].map(() => new pg.Client({ connectionString: database.url })) as [pg.Client, pg.Client]
  await Promise.all(clients.map((client) => client.connect()))
  const [first, second] = clients
  try {
    const late = (await postgres(second).open({ clock: systemClock, leaseMs: 15_000 })).store
    const { rows } = await second.query('select pg_backend_pid() as pid')
    const blocked = async () => {
      for (;;) {
        const answer = await first.query('select cardinality(pg_blocking_pids($1)) > 0 as waits', [rows[0].pid])
        if (answer.rows[0].waits === true) return
      }
    }
    let waiting: Promise<{ from: number; to: number }> | undefined
    const query = async (text: string, params: readonly unknown[] = []) => {
      const answer = await first.query(text, [...params])
      if (text.includes('pg_advisory_xact_lock')) {
        waiting = late.migrate()
        await blocked()
      }
      return answer
    }
    await first.query('begin')
    const done = await migrate({
      query,
      queryTheirs: query,
      queryWithin: (_ms, text, params) => query(text, params),
      transaction: (fn) => fn({ query }, undefined),
    })
    await first.query('commit')
    expect(done.from).toBe(0)
    expect(await waiting).toEqual({ from: done.to, to: done.to })
  } finally {
    await Promise.all(clients.map((client) => client.end()))
    await database.drop()
  }
})
