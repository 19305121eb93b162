// A pop on Postgres that is woken by a push looks for fresh hints alone at first, by a shorter statement: it answers what the long
// one would.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { pledge } from '../../src/base/deferred.ts'
import { Notifier } from '../../src/drivers/postgres/queue/notifier.ts'
import { statements } from '../../src/drivers/postgres/queue/statements.gen.ts'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import { Waiters } from '../../src/queue/waiters.ts'
import { QueuePlace } from '../services/queue-place.ts'

let place: QueuePlace
beforeAll(async () => {
  place = await QueuePlace.open('wake')
})
afterAll(() => place.close())
beforeEach(() =>
  place.beside.query(`truncate regrow.hints, regrow.canary; insert into regrow.canary values (true, 3, 7)`),
)

/** So slow that no pop looks by itself before a push wakes it. */
const slowClock = { ...systemClock, after: (ms: number, then: () => void) => systemClock.after(ms * 1_000, then) }

/** A notifier of which a test knows when a pop begins to sleep. */
class WatchedNotifier extends Notifier {
  sleeps = pledge()
  override readonly waiters = new Waiters(slowClock, () => {
    this.sleeps.resolve()
    this.sleeps = pledge()
  })
}

function open() {
  const notifier = new WatchedNotifier({ clock: systemClock, listen: null })
  const sent: string[] = []
  const seen = (db: SqlExecutor): SqlExecutor => ({
    query: (text, params) => {
      if (text === statements.pop.pop) sent.push('pop')
      if (text === statements.pop.popFresh) sent.push('fresh')
      return db.query(text, params)
    },
  })
  const queue = place.queue({ notifier }, seen)
  /** A pop that found nothing, and sleeps until `push` brought something; how it was found. */
  const woken = async (limit: number, push: () => Promise<unknown>) => {
    const { promise: sleeps } = notifier.sleeps
    const popping = queue.pop({ jobs: ['a', 'b'].map((job) => ({ job, limit })), limit, waitMs: 20_000 })
    await sleeps
    sent.length = 0
    await push()
    const popped = await popping
    return { keys: popped.hints.map(({ key }) => key), mark: popped.mark, sent: [...sent] }
  }
  return { queue, woken }
}

const hint = (key: string, how: object = {}) => ({ job: 'a', key, delayMs: 0, fresh: true, ...how })

test('fresh hints come by the short way, as many as there is room for, and with the mark', async () => {
  const { queue, woken } = open()
  const pushed = () => queue.push([hint('x'), hint('y', { job: 'b' }), hint('z')])
  const { keys, mark, sent } = await woken(2, pushed)
  expect(keys).toHaveLength(2)
  expect(mark).toEqual({ epoch: 3, sequence: 7 })
  expect(sent.at(-1)).toBe('fresh')
  const rest = await queue.pop({ jobs: ['a', 'b'].map((job) => ({ job, limit: 2 })), limit: 2, waitMs: 0 })
  expect([...keys, ...rest.hints.map(({ key }) => key)].sort()).toEqual(['x', 'y', 'z'])
})

test('a swept hint is found by the long way, which follows where the short one found nothing', async () => {
  const { queue, woken } = open()
  const { keys, sent } = await woken(2, () => queue.push([hint('s', { fresh: false })]))
  expect(keys).toEqual(['s'])
  expect(sent.at(-1)).toBe('pop')
})

test('each pop begins by the long way: hints of the swept lane do not wait behind pushes that go on', async () => {
  const { queue } = open()
  await queue.push([hint('s', { fresh: false })])
  const popped = await queue.pop({ jobs: [{ job: 'a', limit: 1 }], limit: 1, waitMs: 20_000 })
  expect(popped.hints).toEqual([{ job: 'a', key: 's', fresh: false }])
})
