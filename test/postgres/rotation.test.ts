// The table of hints, grown by a transaction that stays open, is emptied and filled again: no hint is lost or comes twice, and
// nobody takes it for a loss.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PostgresQueue } from '../../src/drivers/postgres/queue/postgres-queue.ts'
import { sqlState } from '../../src/drivers/postgres/store/errors.ts'
import type { QueuePlace } from '../services/queue-place.ts'
import { all, hints, pinnedPlace, popAll } from './bloat-scene.ts'

let place: QueuePlace
beforeEach(async () => {
  place = await pinnedPlace()
})
afterEach(() => place.close())

const bytes = async () => Number((await place.rows(`select pg_relation_size('regrow.hints')::int as bytes`))[0]?.bytes)

/** Another one after each time the table was emptied. */
const fileOf = async (table = 'hints') =>
  (await place.rows(`select pg_relation_filenode($1::regclass) as file`, [`regrow.${table}`]))[0]?.file

const kilobyte = 1024
const rotation = { bytesMin: 192 * kilobyte, lookMs: 0 }

test('hints go in and out, each once; their table stays small, and no loss is declared', async () => {
  const later = [
    ...hints(1, 50, { job: 'later', fresh: false, delayMs: 3_600_000 }),
    ...hints(51, 50, { job: 'later', fresh: true, delayMs: 7_200_000 }),
    ...hints(101, 50, { job: 'other', fresh: false }),
    ...hints(151, 50, { job: 'other', fresh: true }),
  ]
  // Two processes.
  const queues = [1, 2].map(() => place.queue({ rotates: place.rotates, rotation }))
  await queues[0]?.push(later)
  await queues[0]?.setMark({ epoch: 7, sequence: 3 })
  const waiting = () =>
    place.rows(`select job, key, fresh, due_at::text from regrow.hints where job <> 'a' order by key`)
  const before = await waiting()
  const files = new Set([await fileOf()])
  const popped: string[] = []
  const marks = new Set<string>()
  let most = 0
  const work = async (queue: PostgresQueue, process: number) => {
    for (let round = 0; round < 40; round++) {
      const given = hints((process * 40 + round) * 250, 250)
      // By the quick way and by the exact one.
      for (const hint of round % 2 ? [] : given) Object.assign(hint, { fresh: Number(hint.key) % 2 === 0 })
      expect(await queue.push(given)).toEqual({ added: 250, merged: 0, dropped: 0 })
      const { hints: found, mark } = await queue.pop(all)
      popped.push(...found.map(({ key }) => key))
      marks.add(JSON.stringify(mark))
      most = Math.max(most, await bytes())
      files.add(await fileOf())
    }
  }
  await Promise.all(queues.map(work))
  for (const queue of queues) popped.push(...(await popAll(queue)).map(({ key }) => key))
  expect(popped).toHaveLength(20_000)
  expect(new Set(popped).size).toBe(20_000)
  expect([...marks]).toEqual(['{"epoch":7,"sequence":3}'])
  expect(await waiting()).toEqual(before)
  expect(files.size).toBeGreaterThan(2)
  // Of 20,000 hints it would be more than a megabyte.
  expect(most).toBeLessThan(512 * kilobyte)
})

test('a table that somebody holds is left alone, nobody waits for it, and it is emptied when it is free', async () => {
  const holder = await place.connect()
  await holder.query('begin; lock table regrow.hints in access share mode')
  const refusals: (string | undefined)[] = []
  const queue = place.queue({
    rotation,
    rotates: {
      ...place.rotates,
      transaction: (work) =>
        place.rotates.transaction(work).catch((error: unknown) => {
          refusals.push(sqlState(error))
          throw error
        }),
    },
  })
  await queue.setMark({ epoch: 1, sequence: 1 })
  const file = await fileOf()
  for (let round = 0; round < 12; round++) {
    await queue.push(hints(round * 500, 500))
    expect((await popAll(queue)).length).toBe(500)
  }
  while (refusals.length < 2) await queue.pop(all)
  expect(new Set(refusals)).toEqual(new Set(['55P03']))
  expect(await fileOf()).toBe(file)
  await holder.query('commit')
  while ((await fileOf()) === file) await queue.pop(all)
  expect(await bytes()).toBe(0)
  expect(await queue.pop(all)).toMatchObject({ mark: { epoch: 1, sequence: 1 } })
})

test('who has come as far as the canary, and waits for the hints, does not keep the table from being emptied', async () => {
  // As a push does that began with the canary: one that waits for both would wait for it, and it for that one.
  const pusher = await place.connect()
  await pusher.query('begin; lock table regrow.canary in access share mode')
  const queue = place.queue({ rotates: place.rotates, rotation })
  const file = await fileOf()
  for (let round = 0; round < 12; round++) {
    await queue.push(hints(round * 500, 500))
    await popAll(queue)
  }
  while ((await fileOf()) === file) await queue.pop(all)
  await pusher.query('commit')
})

test('the canary, whose row has many versions after a while, is written anew, and is the same', async () => {
  const queue = place.queue({ rotates: place.rotates, rotation })
  await queue.setMark({ epoch: 7, sequence: 0 })
  const file = await fileOf('canary')
  await place.beside.query(`do $$ begin
    for i in 1..3000 loop update regrow.canary set sequence = i; commit; end loop;
  end $$`)
  const marks = new Set<string>()
  while ((await fileOf('canary')) === file) marks.add(JSON.stringify((await queue.pop(all)).mark))
  marks.add(JSON.stringify((await queue.pop(all)).mark))
  expect([...marks]).toEqual(['{"epoch":7,"sequence":3000}'])
  expect(await queue.advanceMark({ epoch: 7, sequence: 3_000 })).toEqual({ epoch: 7, sequence: 3_000 })
})

test.each([
  ['TRUNCATE', `grant select, insert, update, delete on regrow.hints, regrow.canary to ROLE`, ''],
  ['TEMPORARY', `grant all on regrow.hints, regrow.canary to ROLE`, `revoke temporary on database DB from public`],
])('a role without the right to %s goes on, and tries less and less often', async (_right, grants, revokes) => {
  const role = `bloat_${randomUUID().slice(0, 8)}`
  await place.beside.query(`create role ${role}`)
  try {
    await place.beside.query(`grant usage on schema regrow to ${role}; ${grants.replaceAll('ROLE', role)}`)
    if (revokes) await place.beside.query(revokes.replace('DB', place.database.name))
    const refusals: (string | undefined)[] = []
    const queue = place.queue({
      rotation: { ...rotation, bytesMin: 64 * kilobyte },
      rotates: {
        query: place.rotates.query,
        transaction: (work) =>
          place.rotates
            .transaction(async (tx, own) => {
              await tx.query(`set local role ${role}`)
              return work(tx, own)
            })
            .catch((error: unknown) => {
              refusals.push(sqlState(error))
              throw error
            }),
      },
    })
    await queue.setMark({ epoch: 1, sequence: 1 })
    for (let round = 0; round < 16; round++) {
      await queue.push(hints(round * 500, 500))
      expect((await popAll(queue)).length).toBe(500)
    }
    while (refusals.length === 0) await queue.pop(all)
    expect(new Set(refusals)).toEqual(new Set(['42501']))
    // Each time it is twice as large as at the last one.
    expect(refusals.length).toBeLessThanOrEqual(4)
    expect(await queue.pop(all)).toEqual({
      hints: [],
      mark: { epoch: 1, sequence: 1 },
    })
  } finally {
    await place.beside.query(`drop owned by ${role}; drop role ${role}`)
  }
})
