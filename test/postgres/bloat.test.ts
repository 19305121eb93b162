// A transaction that stays open keeps every popped hint and every settled claim in its table and indexes. Nothing that is done
// per hint or per key takes longer for it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sqlStore } from '../../src/drivers/postgres/store/store.ts'
import { readJob } from '../../src/job/job.ts'
import type { SettleRow } from '../../src/store/ledger.ts'
import { Behind } from '../../src/worker/orphan-window.ts'
import { Buffers, type QueuePlace, StandingClock } from '../services/queue-place.ts'
import { all, hints, pinnedPlace, popAll } from './bloat-scene.ts'

let place: QueuePlace
beforeEach(async () => {
  place = await pinnedPlace()
})
afterEach(() => place.close())

test('a push or a pop that nobody rotates for touches as many buffers after 20,000 hints as after 1,000', async () => {
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
  finish: null,
}
