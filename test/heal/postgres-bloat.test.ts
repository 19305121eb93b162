// A transaction that stays open keeps every popped hint and every settled claim in its table. The queue empties its own, and
// nothing that is done per hint or per key takes longer for it.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PostgresQueue } from '../../src/backends/postgres/queue/postgres-queue.ts'
import { readJob } from '../../src/job/job.ts'
import type { Hint, PoppedHint } from '../../src/queue/hint.ts'
import { sqlState } from '../../src/store/executor.ts'
import type { SettleRow } from '../../src/store/ledger.ts'
import { sqlStore } from '../../src/store/sql/store.ts'
import { Behind } from '../../src/worker/behind.ts'
import { Buffers, QueuePlace, StandingClock } from '../services/queue-place.ts'

let place: QueuePlace
beforeEach(async () => {
  place = await QueuePlace.open(
    'bloat',
    `create table things (id int primary key, state text not null default 'pending')`,
  )
  // What vacuum does is up to chance; with the horizon pinned it could do nothing.
  await place.beside.query(`alter table regrow.hints set (autovacuum_enabled = false)`)
  await place.beside.query(`alter table regrow.ledger set (autovacuum_enabled = false)`)
})
afterEach(() => place.close())

/** From now on nothing that is deleted can be removed. It holds no table. */
async function openSnapshot() {
  const client = await place.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from things')
  return client
}

const hints = (from: number, count: number, hint: Partial<Hint> = {}): Hint[] =>
  Array.from({ length: count }, (_, i) => ({ job: 'a', key: `${from + i}`, delayMs: 0, fresh: true, ...hint }))

const all = { jobs: [{ job: 'a', limit: 500 }], limit: 500, waitMs: 0 }

async function popAll(queue: PostgresQueue): Promise<PoppedHint[]> {
  const popped: PoppedHint[] = []
  for (;;) {
    const { hints } = await queue.pop(all)
    if (hints.length === 0) return popped
    popped.push(...hints)
  }
}

const bytes = async () => Number((await place.rows(`select pg_relation_size('regrow.hints')::int as bytes`))[0]?.bytes)

/** Another one after each time the table was emptied. */
const fileOf = async (table = 'hints') =>
  (await place.rows(`select pg_relation_filenode($1::regclass) as file`, [`regrow.${table}`]))[0]?.file

const kilobyte = 1024
const rotation = { bytesMin: 192 * kilobyte, lookMs: 0 }

test('with a snapshot open, hints go in and out, each once; their table stays small, and no loss is declared', async () => {
  await openSnapshot()
  const later = [
    ...hints(1, 50, { job: 'later', fresh: false, delayMs: 3_600_000 }),
    ...hints(51, 50, { job: 'later', fresh: true, delayMs: 7_200_000 }),
    ...hints(101, 50, { job: 'other', fresh: false }),
    ...hints(151, 50, { job: 'other', fresh: true }),
  ]
  // Two processes.
  const queues = [1, 2].map(() => place.queue({ rotates: place.rotates, rotation }))
  await queues[0]?.push(later)
  await queues[0]?.writeMark({ epoch: 7, sequence: 3 })
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
  await openSnapshot()
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
  await queue.writeMark({ epoch: 1, sequence: 1 })
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
  await openSnapshot()
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
  await openSnapshot()
  const queue = place.queue({ rotates: place.rotates, rotation })
  await queue.writeMark({ epoch: 7, sequence: 0 })
  const file = await fileOf('canary')
  await place.beside.query(`do $$ begin
    for i in 1..3000 loop update regrow.canary set sequence = i; commit; end loop;
  end $$`)
  const marks = new Set<string>()
  while ((await fileOf('canary')) === file) marks.add(JSON.stringify((await queue.pop(all)).mark))
  marks.add(JSON.stringify((await queue.pop(all)).mark))
  expect([...marks]).toEqual(['{"epoch":7,"sequence":3000}'])
  expect(await queue.moveMark({ epoch: 7, sequence: 3_000 })).toEqual({ epoch: 7, sequence: 3_000 })
})

test.each([
  ['TRUNCATE', `grant select, insert, update, delete on regrow.hints, regrow.canary to ROLE`, ''],
  ['TEMPORARY', `grant all on regrow.hints, regrow.canary to ROLE`, `revoke temporary on database DB from public`],
])('a role without the right to %s goes on, and tries less and less often', async (_right, grants, revokes) => {
  await openSnapshot()
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
    await queue.writeMark({ epoch: 1, sequence: 1 })
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
      waitMs: Number.POSITIVE_INFINITY,
    })
  } finally {
    await place.beside.query(`drop owned by ${role}; drop role ${role}`)
  }
})

test('a push or a pop that nobody rotates for touches as many buffers after 20,000 hints as after 1,000', async () => {
  await openSnapshot()
  const clock = new StandingClock()
  const buffers = new Buffers(await place.connect())
  const queue = place.queue({ clock }, (db) => buffers.beside(db))
  const figures: Record<string, number>[] = []
  let last = 0
  for (const popped of [1_000, 20_000]) {
    for (; last < popped; last += 500) {
      await queue.push([...hints(last, 250), ...hints(last + 250, 250, { fresh: false })])
      expect((await popAll(queue)).length).toBe(500)
    }
    // All that was a while ago: lanes that were emptied are looked at from shortly before.
    await serverTime(`clock_timestamp() + interval '${popped} s'`)
    expect(await popAll(queue)).toEqual([])
    figures.push({
      push: await buffers.of(() => queue.push(hints(900_000 + last, 200))),
      pop: await buffers.of(() => queue.pop({ ...all, limit: 100 })),
      rest: await buffers.of(() => queue.pop({ ...all, limit: 100 })),
      idle: await buffers.of(() => queue.pop(all)),
    })
  }
  const [few, many] = figures as [Record<string, number>, Record<string, number>]
  for (const [name, figure] of Object.entries(many)) expect(figure, name).toBeLessThan((few[name] as number) * 2 + 50)
  await serverTime('clock_timestamp()')
})

/** Another time on the server, for all of its statements. */
const serverTime = (text: string) =>
  place.beside.query(
    `create or replace function regrow.clock() returns timestamptz language sql volatile parallel safe as $$select ${text}$$`,
  )

test('a lane through which much went, and which is empty now, is walked along now and then, and not by every pop', async () => {
  await openSnapshot()
  const clock = new StandingClock()
  const buffers = new Buffers(await place.connect())
  const open = () => place.queue({ clock }, (db) => buffers.beside(db))
  const queue = open()
  await place.rows(`insert into regrow.hints (job, key, due_at, fresh)
    select 'a', 'swept' || n, now() - interval '1 hour', false from generate_series(1, 20000) n`)
  expect((await popAll(queue)).length).toBe(20_000)
  // One that popped them, and one that never saw them.
  for (const popper of [queue, open()]) {
    clock.pass(2_000)
    const whole = await buffers.of(() => popper.pop(all))
    for (let pops = 0; pops < 3; pops++) {
      await queue.push(hints(pops * 10, 10))
      expect(await buffers.of(() => popper.pop(all))).toBeLessThan(whole / 3)
    }
  }
})

test('what was committed late, behind where pops have been, is found by the next look from the beginning', async () => {
  const clock = new StandingClock()
  const queue = place.queue({ clock })
  await place.beside.query(`begin;
    insert into regrow.hints (job, key, due_at, fresh) values ('a', 'late', now() - interval '1 minute', true),
      ('a', 'later', now() - interval '1 minute', false)`)
  await queue.push([...hints(1, 10), ...hints(11, 10, { fresh: false })])
  expect((await popAll(queue)).length).toBe(20)
  await place.beside.query('commit')
  // It is what makes pops quick.
  expect(await popAll(queue)).toEqual([])
  clock.pass(2_000)
  expect((await popAll(queue)).map(({ key }) => key)).toEqual(['late', 'later'])
})

test('take, check, settle and beat touch as many buffers after 20,000 keys as after 3,000', async () => {
  await openSnapshot()
  await place.beside.query(`insert into things select generate_series(1, 30000); analyze things`)
  const buffers = new Buffers(await place.connect())
  const seen = buffers.beside(place.db)
  const store = sqlStore({ ...place.db, ...seen, queryTheirs: seen.query }, { exclusive: false })
  const source = store.source(
    readJob('a', { key: 'int', pending: { text: `select id from things where state = 'pending'`, values: [] } }).job,
  )
  await store.workers.register({ holder: 'w', host: 'host', pid: 1, jobs: {} }, 15_000)
  const behind = new Behind()
  const figures: Record<string, number>[] = []
  let take = 0
  const round = async (of: (work: () => Promise<unknown>) => Promise<number>) => {
    const claims = hints(take + 1, 100).map(({ job, key }) => ({ job, key, take: ++take }))
    const rows = claims.map((claim): SettleRow => ({ ...claim, ...done }))
    const beat = () =>
      store.workers.beat(
        'w',
        claims.map((claim) => claim.take),
        take,
        15_000,
        0,
        behind.lowest(take - 99),
      )
    return {
      take: await of(() => store.ledger.take('w', claims)),
      check: await of(() => source.check(claims.map(({ key }) => key))),
      beat: await of(beat),
      settle: await of(() => store.ledger.settle('w', rows)),
    }
  }
  await source.check(['1'])
  const unmeasured = async (work: () => Promise<unknown>) => Number(await work())
  for (let rounds = 1; rounds <= 200; rounds++) {
    const measured = rounds === 30 || rounds === 200
    const figure = await round(measured ? (work) => buffers.of(work) : unmeasured)
    if (measured) figures.push(figure)
  }
  const [few, many] = figures as [Record<string, number>, Record<string, number>]
  for (const [name, figure] of Object.entries(many)) expect(figure, name).toBeLessThan((few[name] as number) * 2 + 50)
})

const done: Omit<SettleRow, 'job' | 'key' | 'take'> = {
  state: 'done',
  version: null,
  failures: 0,
  crashes: 0,
  retryMs: 0,
  error: null,
  finish: false,
}
