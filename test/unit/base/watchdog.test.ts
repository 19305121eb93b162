// The watchdog keeps loops alive: a stalled round is left to itself and begun anew.
import { expect, test } from 'vitest'
import type { LoopSpec } from '../../../src/base/loop.ts'
import { Watchdog } from '../../../src/base/watchdog.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

/** A tick that is counted and says when the next one is. */
const counted = (count: () => void, nextMs: number) => async () => {
  count()
  return nextMs
}

function world(...specs: ((clock: VirtualClock) => LoopSpec)[]) {
  const clock = new VirtualClock()
  const stalled: string[] = []
  const loops = specs.map((spec) => spec(clock))
  const watchdog = new Watchdog(
    loops,
    { clock, random: { float: () => 0.5, hex: () => '' }, failed: () => {} },
    (name) => stalled.push(name),
  )
  return { clock, watchdog, loops, stalled }
}

test('a round that never ends is aborted, told and begun anew, as often as it stalls; other loops go on', async () => {
  let begun = 0
  let aborted = 0
  let calm = 0
  const { clock, watchdog, stalled } = world(
    () => ({
      name: 'stuck',
      stalledAfterMs: 3_000,
      tick: (signal) => {
        begun++
        signal.addEventListener('abort', () => aborted++)
        return new Promise(() => {})
      },
    }),
    () => ({ name: 'calm', tick: counted(() => calm++, 100) }),
  )
  watchdog.start()
  await clock.pass(12_501)
  expect(stalled).toEqual(['stuck', 'stuck', 'stuck'])
  expect([begun, aborted]).toEqual([4, 3])
  expect(calm).toBe(126)
  expect(watchdog.report()).toEqual([
    { name: 'stuck', successAgeMs: undefined, restarts: 3 },
    { name: 'calm', successAgeMs: 1, restarts: 0 },
  ])
})

test('a loop that was stopped in the middle of a round is not started again, however long that takes', async () => {
  let begun = 0
  let end = () => {}
  const { clock, watchdog, loops, stalled } = world(
    () => ({
      name: 'pop',
      stalledAfterMs: 3_000,
      tick: () => {
        begun++
        return new Promise((resolve) => {
          end = () => resolve(0)
        })
      },
    }),
    () => ({ name: 'beat', tick: async () => 100 }),
  )
  watchdog.start()
  await clock.pass(100)
  void watchdog.stop(loops[0] as LoopSpec)
  await clock.pass(20_000)
  end()
  await clock.pass(20_000)
  expect(begun).toBe(1)
  expect(stalled).toEqual([])
})

test('a wake reaches that loop and no other', async () => {
  const rounds = { a: 0, b: 0 }
  const { clock, watchdog, loops } = world(
    () => ({ name: 'a', tick: counted(() => rounds.a++, 50_000) }),
    () => ({ name: 'b', tick: counted(() => rounds.b++, 50_000) }),
  )
  watchdog.start()
  await clock.pass(10)
  watchdog.wake(loops[1] as LoopSpec)
  await clock.pass(10)
  expect(rounds).toEqual({ a: 1, b: 2 })
})

test('stopped as a whole, nothing ticks any more', async () => {
  let rounds = 0
  const { clock, watchdog } = world(() => ({ name: 'a', tick: counted(() => rounds++, 10) }))
  watchdog.start()
  await clock.pass(100)
  await watchdog.stop()
  const before = rounds
  await clock.pass(10_000)
  expect(rounds).toBe(before)
})
