// How many turns a process wins at once, and how many of their passes run side by side.
import { expect, test } from 'vitest'
import type { Turn } from '../../../src/store/sweeps.ts'
import { type MakeTurn, WonTurns } from '../../../src/sweep/won-turns.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const never = new AbortController().signal
const turnsOf = (count: number, name = 'job'): Turn[] =>
  Array.from({ length: count }, (_, i) => ({ job: `${name}.${i}` }) as Turn)

/** A clock, and passes that take `ms(job)`. */
function line(ms: (job: string) => number) {
  const clock = new VirtualClock()
  const won = new WonTurns(clock)
  const began: { job: string; at: number }[] = []
  let [now, most] = [0, 0]
  const make: MakeTurn = async ({ job }, passed) => {
    began.push({ job, at: clock.now() })
    most = Math.max(most, ++now)
    await clock.sleep(ms(job))
    now--
    passed()
    await clock.sleep(5)
  }
  const begin = async (turns: readonly Turn[], whole = true) => {
    const begun = won.begin(turns, make, whole, never)
    let over = false
    begun.then(() => {
      over = true
    })
    const from = clock.now()
    while (!over) await clock.pass(1)
    return { again: await begun, tookMs: clock.now() - from }
  }
  return { clock, won, began, begin, most: () => most }
}

test('batches grow while their passes are quick, and four passes run at a time', async () => {
  const { won, begin, began, most } = line(() => 1)
  const sizes = [won.room]
  for (let n = 0; n < 6; n++) {
    const { again, tookMs } = await begin(turnsOf(won.room, `batch${n}`))
    expect(again).toBe(true)
    expect(tookMs).toBeLessThan(60)
    sizes.push(won.room)
  }
  expect(sizes[0]).toBe(4)
  expect(Math.max(...sizes)).toBeGreaterThan(48)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64)
  expect(new Set(began.map(({ job }) => job)).size).toBe(began.length)
  expect(most()).toBe(4)
})

test('a batch that was not whole is no sign that there is more', async () => {
  const { won, begin } = line(() => 1)
  expect((await begin(turnsOf(3), false)).again).toBe(false)
  expect((await begin([], false)).again).toBe(false)
  expect(won.room).toBe(4)
})

test('passes that hang leave their places after two seconds, up to sixteen; turns that wait are dropped after a moment', async () => {
  const { clock, won, began, begin, most } = line((job) => (job.startsWith('hangs') ? 60_000 : 1))
  for (let n = 0; n < 5; n++) await begin(turnsOf(won.room, `batch${n}`))
  const before = began.length
  const { again, tookMs } = await begin([...turnsOf(4, 'hangs'), ...turnsOf(40, 'waits')])
  expect(again).toBe(true)
  expect(tookMs).toBeLessThanOrEqual(251)
  expect(began).toHaveLength(before + 4)
  expect(won.room).toBe(0)
  expect(won.has('waits.0')).toBe(false)
  await clock.pass(2_000)
  // As many as began in time: four.
  expect(won.room).toBe(4)
  for (const name of ['hangs.b', 'hangs.c', 'hangs.d']) {
    await begin(turnsOf(4, name))
    await clock.pass(2_000)
  }
  expect(won.room).toBe(0)
  await clock.pass(10_000)
  expect(won.room).toBe(0)
  await clock.pass(60_000)
  expect(won.room).toBe(4)
  expect(most()).toBe(16)
})
