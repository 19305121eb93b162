// A call is repeated while another try can help.
import { expect, test } from 'vitest'
import { type RetryChoice, retry } from '../../../src/base/retry.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const middle = { float: () => 0.5, hex: () => '' }

/** Fails `failures` times, then answers; returns how it ended and when each try was. */
async function tries(failures: number, choice: Omit<RetryChoice, 'delayMs'>, stop?: () => void) {
  const clock = new VirtualClock()
  const at: number[] = []
  let outcome: unknown
  const work = retry(clock, middle, { delayMs: 100, ...choice }, async () => {
    at.push(clock.now())
    if (at.length === 3) stop?.()
    if (at.length <= failures) throw new Error(`try ${at.length}`)
    return 'done'
  })
  work.then(
    (value) => (outcome = value),
    (error) => (outcome = error),
  )
  await clock.run(
    async () => outcome !== undefined,
    1_000_000,
    async () => {},
  )
  return { outcome, at }
}

test('waits double from the first up to twenty times it', async () => {
  const { outcome, at } = await tries(8, { again: () => true })
  expect(outcome).toBe('done')
  expect(at.map((time, i) => time - (at[i - 1] ?? 0))).toEqual([0, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
})

test('an error that another try cannot help is thrown at once', async () => {
  const seen: unknown[] = []
  const again = (error: unknown, count: number) => {
    seen.push([String(error), count])
    return count < 2
  }
  expect(await tries(5, { again })).toMatchObject({ outcome: new Error('try 2'), at: [0, 100] })
  expect(seen).toEqual([
    ['Error: try 1', 1],
    ['Error: try 2', 2],
  ])
})

test('an aborted signal ends the tries with the last error', async () => {
  const stop = new AbortController()
  const { outcome, at } = await tries(100, { again: () => true, signal: stop.signal }, () => stop.abort())
  expect(outcome).toEqual(new Error('try 3'))
  expect(at).toHaveLength(3)
})
