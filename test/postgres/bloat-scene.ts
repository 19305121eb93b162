// A database in which nothing that is deleted can be removed, and hints to send through it.
import type { PostgresQueue } from '../../src/drivers/postgres/queue/postgres-queue.ts'
import type { Hint, PoppedHint } from '../../src/queue/hint.ts'
import { QueuePlace } from '../services/queue-place.ts'

/** A place whose tables only grow: a transaction with a snapshot is open, and holds none of them. */
export async function pinnedPlace(): Promise<QueuePlace> {
  const place = await QueuePlace.open(
    'bloat',
    `create table things (id int primary key, state text not null default 'pending')`,
  )
  // What vacuum does is up to chance; it could do nothing.
  for (const table of ['hints', 'ledger'])
    await place.beside.query(`alter table regrow.${table} set (autovacuum_enabled = false)`)
  const client = await place.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from things')
  return place
}

export const hints = (from: number, count: number, hint: Partial<Hint> = {}): Hint[] =>
  Array.from({ length: count }, (_, i) => ({ job: 'a', key: `${from + i}`, delayMs: 0, fresh: true, ...hint }))

/** A pop of whatever is due. */
export const all = { jobs: [{ job: 'a', limit: 500 }], limit: 500, waitMs: 0 }

export async function popAll(queue: PostgresQueue): Promise<PoppedHint[]> {
  const popped: PoppedHint[] = []
  for (;;) {
    const { hints } = await queue.pop(all)
    if (hints.length === 0) return popped
    popped.push(...hints)
  }
}
