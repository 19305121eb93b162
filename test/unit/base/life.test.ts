// The end of an app: calls and the closing itself get some time, and none of them keeps the caller of close for longer.
import { expect, test } from 'vitest'
import { Life } from '../../../src/base/life.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const never = () => new Promise<void>(() => {})

/** When `promise` is settled, by the clock. */
function settledAt(clock: VirtualClock, promise: Promise<unknown>): () => number | undefined {
  let at: number | undefined
  const settle = () => {
    at = clock.now()
  }
  promise.then(settle, settle)
  return () => at
}

test('close waits for a call that is under way, then for the closing, each for ten seconds at most', async () => {
  const clock = new VirtualClock()
  const life = new Life(clock)
  void life.call(never)
  let began: number | undefined
  const end = () => {
    began = clock.now()
    return never()
  }
  const closed = settledAt(clock, life.close(end))
  await clock.pass(30_000)
  expect([began, closed()]).toEqual([10_000, 20_000])
})

test('close ends with the last call and the closing, and answers again', async () => {
  const clock = new VirtualClock()
  const life = new Life(clock)
  void life.call(() => clock.sleep(300))
  void life.call(() => clock.sleep(700))
  const closed = settledAt(
    clock,
    life.close(() => clock.sleep(50)),
  )
  const again = settledAt(clock, life.close(never))
  await clock.pass(5_000)
  expect([closed(), again()]).toEqual([750, 750])
})

test('close throws what the closing throws', async () => {
  const life = new Life(new VirtualClock())
  await expect(life.close(() => Promise.reject(new Error('the file is gone')))).rejects.toThrow('the file is gone')
})
