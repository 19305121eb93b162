// The one door: it never throws, sends pages of 2,000, and counts everything that came in.
import { expect, test } from 'vitest'
import { RegrowError } from '../../../src/base/errors.ts'
import { Events } from '../../../src/base/events.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import type { Hint, Pushed } from '../../../src/queue/hint.ts'
import { lateDoor, pushDoor } from '../../../src/queue/push.ts'
import { badHint } from '../../../src/queue/queue.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const hints = (count: number): Hint[] =>
  Array.from({ length: count }, (_, i) => ({ job: 'a', key: `${i}`, delayMs: 0, fresh: false }))

function world(answer: (page: readonly Hint[], call: number) => Pushed | Promise<Pushed>) {
  const pages: (readonly Hint[])[] = []
  const events = new Events<EventMap>()
  const clock = new VirtualClock()
  const dropped: EventMap['hint.dropped'][] = []
  events.on('hint.dropped', (detail) => dropped.push(detail))
  const push = pushDoor(
    {
      async push(page) {
        pages.push(page)
        return answer(page, pages.length)
      },
    },
    events,
    clock,
  )
  return { push, pages, events, dropped, clock }
}
const takesAll = (page: readonly Hint[]): Pushed => ({ added: page.length, merged: 0, dropped: 0 })

test('many hints go in pages of 2,000', async () => {
  const { push, pages } = world(takesAll)
  expect(await push(hints(4_500))).toEqual({ added: 4_500, merged: 0, dropped: 0 })
  expect(pages.map((page) => page.length)).toEqual([2_000, 2_000, 500])
})

test('a page that fails is dropped and told; the others are pushed', async () => {
  const away = new Error('away')
  const { push, dropped } = world((page, call) => {
    if (call === 2) throw away
    return takesAll(page)
  })
  expect(await push(hints(4_500))).toEqual({ added: 2_500, merged: 0, dropped: 2_000, error: away })
  expect(dropped).toEqual([{ count: 2_000, why: 'queue', error: away }])
})

test('a queue that does not answer is broken after 10 s', async () => {
  const { push, dropped, clock } = world(() => new Promise(() => {}))
  let report: Pushed | undefined
  void push(hints(3)).then((pushed) => {
    report = pushed
  })
  await clock.pass(9_999)
  expect(report).toBeUndefined()
  await clock.pass(2)
  expect(report).toMatchObject({ added: 0, merged: 0, dropped: 3, error: { code: 'deadline' } })
  expect(dropped).toMatchObject([{ count: 3, why: 'queue', error: { code: 'deadline' } }])
})

test('what a full queue did not take is told', async () => {
  const { push, dropped } = world(() => ({ added: 1, merged: 1, dropped: 3 }))
  expect(await push(hints(5))).toEqual({ added: 1, merged: 1, dropped: 3 })
  expect(dropped).toEqual([{ count: 3, why: 'full', error: null }])
})

test('of several hints of one key the fresh one goes, else the soonest; the others count as merged', async () => {
  const { push, pages } = world(takesAll)
  const hint = (delayMs: number, fresh: boolean, key = 'k', job = 'a'): Hint => ({ job, key, delayMs, fresh })
  const given = [
    hint(5, false),
    hint(9, true),
    hint(1, false),
    hint(7, true),
    hint(0, false, 'other'),
    hint(3, false, 'k', 'b'),
  ]
  expect(await push(given)).toEqual({ added: 3, merged: 3, dropped: 0 })
  expect(pages).toEqual([[hint(7, true), hint(0, false, 'other'), hint(3, false, 'k', 'b')]])
})

test('no hints, no call', async () => {
  const { push, pages } = world(takesAll)
  expect(await push([])).toEqual({ added: 0, merged: 0, dropped: 0 })
  expect(pages).toEqual([])
})

test('a queue that cannot be opened drops hints like a broken one', async () => {
  const { events, dropped } = world(takesAll)
  const refused = new Error('connect ECONNREFUSED')
  const push = lateDoor(() => Promise.reject(refused), events)
  expect(await push(hints(2))).toEqual({ added: 0, merged: 0, dropped: 2, error: refused })
  expect(dropped).toEqual([{ count: 2, why: 'queue', error: refused }])
})

test('no hints open nothing', async () => {
  const { events, dropped } = world(takesAll)
  let opened = 0
  const push = lateDoor(async () => {
    opened++
    throw new Error('away')
  }, events)
  expect(await push([])).toEqual({ added: 0, merged: 0, dropped: 0 })
  expect([opened, dropped]).toEqual([0, []])
})

test('a mistake of the user is thrown, not dropped', async () => {
  const { events, dropped } = world(takesAll)
  const push = lateDoor(() => Promise.reject(new RegrowError('not_migrated', 'x', 'y')), events)
  await expect(push(hints(2))).rejects.toMatchObject({ code: 'not_migrated' })
  expect(dropped).toEqual([])
})

test('hints that a queue can never hold are left out one by one and named; their neighbours get in', async () => {
  const bad = new Set(['17', '1500'])
  const { push, dropped } = world((page) => {
    if (page.some(({ key }) => bad.has(key))) throw new RegrowError(badHint, 'too long', 'Shorten it.')
    return takesAll(page)
  })
  expect(await push(hints(2_500))).toEqual({ added: 2_498, merged: 0, dropped: 2, refused: 2 })
  expect(dropped).toMatchObject(
    [...bad].map((key) => ({ count: 1, why: 'refused', job: 'a', key, error: { code: badHint } })),
  )
})

test('a queue that is away while a page is halved drops that page', async () => {
  const { push, dropped } = world((page, call) => {
    if (call > 1) throw new Error('away')
    throw new RegrowError(badHint, `one of ${page.length}`, 'Shorten it.')
  })
  expect(await push(hints(10))).toMatchObject({ added: 0, dropped: 10, error: { message: 'away' } })
  expect(dropped).toMatchObject([{ count: 10, why: 'queue' }])
})
