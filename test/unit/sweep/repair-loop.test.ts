// When damaged rows are looked for, and what is told of them (L10).
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import type { DamagedRow, RepairOptions } from '../../../src/store/repair.ts'
import { repairLoop } from '../../../src/sweep/repair-loop.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

function world(found: readonly DamagedRow[][]) {
  const clock = new VirtualClock()
  const events = new Events<EventMap>()
  const left = [...found]
  const [asked, told, repaired]: [RepairOptions[], object[], object[]] = [[], [], []]
  events.on('store.repaired', ({ rows }) => told.push(rows))
  const loop = repairLoop({
    clock,
    events,
    repaired: (rows) => repaired.push(rows),
    repair: async (options) => {
      asked.push(options)
      return left.shift() ?? []
    },
  })
  const tick = () => loop.tick(new AbortController().signal)
  return { clock, loop, tick, asked, told, repaired }
}

const row = { table: 'sweeps', row: 'a' }

test('the small tables are looked at from the start on, each minute', async () => {
  const { tick, asked, told } = world([])
  expect([await tick(), await tick()]).toEqual([60_000, 60_000])
  expect(asked).toEqual([
    { whole: false, mend: true },
    { whole: false, mend: true },
  ])
  expect(told).toEqual([])
})

test('what is found is put right and told, and looked for again at once when it is suspected', async () => {
  const { loop, tick, asked, told, repaired } = world([[row], [row]])
  loop.suspect(true)
  await tick()
  loop.suspect(true)
  await tick()
  expect(asked).toEqual([
    { whole: true, mend: true },
    { whole: true, mend: true },
  ])
  expect([told, repaired]).toEqual([
    [[row], [row]],
    [[row], [row]],
  ])
})

test('a look that found nothing is not made again for five seconds, however often statements are refused', async () => {
  const { clock, loop, tick, asked } = world([])
  loop.suspect(true)
  await tick()
  loop.suspect(false)
  loop.suspect(true)
  expect(await tick()).toBe(5_000)
  expect(asked).toHaveLength(1)
  await clock.pass(5_000)
  await tick()
  expect(asked[1]).toEqual({ whole: true, mend: true })
})

test('a store that cannot tell damaged rows is not asked', async () => {
  const { clock } = world([])
  const loop = repairLoop({ clock, events: new Events<EventMap>(), repaired: () => {} })
  expect(await loop.tick(new AbortController().signal)).toBe(60_000)
})
