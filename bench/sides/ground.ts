// What measures of regrow stand on: the task, an app on its servers, and the queue as something that can be wiped and weighed.
// The task comes as JSON in the first argument. With a Redis the queue is there, else beside the rows in Postgres.
import { createClient } from '@redis/client'
import pg from 'pg'
import { regrow, sql } from 'regrow'
import { postgres } from 'regrow/postgres'
import { redis } from 'regrow/redis'
import { z } from 'zod'
import type { Places, Task } from '../compare/task.ts'
import { sizeOf } from './tables.ts'
import { inputOf, uuidOf } from './timing.ts'

export const task: Task & Places = JSON.parse(process.argv[2] as string)

/** A size that came with the task. */
export const setting = (name: string, standard: number) => Number(task.settings?.[name] ?? standard)

/** `bounds`: of the queue, where the measure is not about the default ones. */
export function declare(bounds: { maxHints?: number } = { maxHints: 10_000_000 }) {
  const max = setting('pool', 10)
  const store = postgres(task.postgres, task.redis ? { max } : { max, ...bounds })
  const app = regrow({
    store,
    guard: task.guard ?? 'claim',
    migrate: true,
    ...(task.redis ? { queue: redis(task.redis, bounds) } : {}),
  })
  app.on('loop.failed', ({ loop, error }) => console.error(loop, error))
  const options = { key: 'bigint', pending: sql`select id from rows where state = 'pending'` } as const
  const batches = { ...options, batch: setting('batch', 100) }
  // Typed as the others: what enqueues need not tell them apart.
  const row = app.job('row', task.update === 'many' ? (batches as typeof options) : options)
  const email = app.job('email', { input: z.object({ to: z.string(), subject: z.string() }) })
  return { app, row, email }
}

export type Declared = ReturnType<typeof declare>

/** An enqueue of so many keys or inputs, as the task asks for: one call, or one for each of so many callers. */
export function enqueuing({ app, row, email }: Declared): (count: number) => Promise<void> {
  const uuids = () => app.job('uuid', { key: 'uuid', pending: sql`select id from uuid_rows` })
  const job = task.data === 'uuid' ? uuids() : task.data === 'input' ? email : row
  const itemOf = task.data === 'uuid' ? uuidOf : task.data === 'input' ? inputOf : BigInt
  const callers = setting('abreast', 1)
  return async (count) => {
    const share = Math.ceil(count / callers)
    const call = async (caller: number) => {
      const [from, until] = [caller * share, Math.min(count, (caller + 1) * share)]
      const items = Array.from({ length: until - from }, (_, n) => itemOf(from + n + 1))
      const { added } = await job.enqueueMany(items as never[])
      if (added !== items.length) throw new Error(`${added} of ${items.length} hints are new`)
    }
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  }
}

const admin = task.redis ? createClient({ url: task.redis }) : null
await admin?.connect()

/** The tables that a crash of the server would empty: hints and their mark. */
const unlogged = `select string_agg(c.oid::regclass::text, ', ') as names
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'regrow' and c.relkind = 'r' and c.relpersistence = 'u'`

/** Loses the queue: FLUSHALL, or TRUNCATE of its tables. */
export async function wipe(): Promise<void> {
  if (admin) {
    await admin.flushAll()
    return
  }
  const client = new pg.Client({ connectionString: task.postgres })
  await client.connect()
  const { rows } = await client.query(unlogged)
  await client.query(`truncate ${rows[0].names}`)
  await client.end()
}

/** Bytes that the queue takes, beside what is always there. */
export async function weight(): Promise<number> {
  if (!admin) return sizeOf(task.postgres, 'regrow')
  return Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))?.[1])
}
