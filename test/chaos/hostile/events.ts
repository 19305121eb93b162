// What happens to the world of `npm run chaos -- hostile`, one after the other. Each event says which promise it puts to the test.
import { setTimeout as sleep } from 'node:timers/promises'
import type { HostileWorld, Said } from './world.ts'
import { namespace } from './world.ts'

export interface HostileEvent {
  readonly name: string
  /** Rows that come in while it lasts, and so long after it, may wait longer. */
  readonly restMs: number
  /** Jobs that it concerns; null: all. */
  readonly jobs: readonly string[] | null
  /** What must have been said by the end of the run; each is one of several ways. */
  readonly said?: readonly (readonly string[])[]
  strike(world: HostileWorld): Promise<void>
}

/** A migration that takes its time: nobody reads the table meanwhile. */
const locked = async (world: HostileWorld, table: string, ms: number) => {
  const session = await world.session()
  await session.query(`begin; lock table ${table} in access exclusive mode`)
  await sleep(ms)
  await session.query('commit')
  await session.end()
}

const truncated = async (world: HostileWorld, ...tables: string[]) => {
  for (const table of tables) await world.admin.query(`truncate regrow.${table}`)
}

export const hostileEvents: readonly HostileEvent[] = [
  {
    name: 'a table is locked for 8 s, where statements may take 2 s',
    ...{ restMs: 10_000, jobs: ['check.locked'] },
    said: [['event loop.failed']],
    strike: (world) => locked(world, 'check_locked', 8_000),
  },
  {
    name: 'two tables are locked for 15 s',
    ...{ restMs: 15_000, jobs: ['table.one', 'table.two'] },
    said: [['health sweep_failing table.one', 'health sweep_late table.one']],
    strike: async (world) => {
      await Promise.all(['table_one', 'table_two'].map((table) => locked(world, table, 15_000)))
    },
  },
  {
    name: 'a mark beyond 2^53 is forged, then everything is flushed',
    ...{ restMs: 5_000, jobs: null },
    said: [['event queue.lost'], ['health queue_lost']],
    strike: async ({ queue }) => {
      await queue.command('SET', `{${namespace}}:mark`, '99999999999999999999 7')
      await sleep(3_000)
      await queue.command('FLUSHALL')
      await sleep(3_000)
    },
  },
  {
    name: 'a key of one job in Redis becomes of another type',
    ...{ restMs: 10_000, jobs: ['queue.typed'] },
    strike: async ({ queue }) => {
      for (const lane of ['fresh', 'swept', 'swept-set']) {
        await queue.command('DEL', `{${namespace}}:${lane}:queue.typed`)
        await queue.command('SET', `{${namespace}}:${lane}:queue.typed`, 'not a lane')
      }
      await sleep(5_000)
    },
  },
  {
    name: "regrow's tables are restored from before the jobs were declared",
    ...{ restMs: 15_000, jobs: null },
    strike: async (world) => {
      await truncated(world, 'sweeps', 'pulse')
      await world.admin.query(`delete from regrow.schedules where name <> 'nightly'`)
      await sleep(5_000)
    },
  },
  {
    name: "the database's clock steps back by an hour",
    ...{ restMs: 20_000, jobs: null },
    strike: async ({ admin }) => {
      await admin.query(
        `create or replace function regrow.clock() returns timestamptz language sql volatile as 'select clock_timestamp() - interval ''1 hour'''`,
      )
      await sleep(10_000)
    },
  },
  {
    name: 'every connection falls silent, new ones get through',
    ...{ restMs: 40_000, jobs: null },
    strike: async ({ proxy }) => {
      proxy.swallow()
      await sleep(500)
      proxy.pass()
      await sleep(5_000)
    },
  },
  {
    name: 'a password is changed, and connections are cut',
    ...{ restMs: 15_000, jobs: null },
    strike: async ({ admin, passwords }) => {
      await admin.query(`alter role alice password 'second'; alter role bob password 'second'`)
      Object.assign(passwords, { alice: 'second', bob: 'second' })
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename in ('alice', 'bob')`)
      await sleep(2_000)
    },
  },
]

/** Whether each promise of an event was kept in words; the missing ones. */
export const unsaid = (said: Said): string[] =>
  hostileEvents.flatMap(({ name, said: expected = [] }) =>
    expected
      .filter((ways) => ways.every((way) => said.count(way) === 0))
      .map((ways) => `${name}: ${ways.join(' or ')}`),
  )
