// Every awaited call ends.
import { expect, test } from 'vitest'
import { withDeadline } from '../../../src/base/deadline.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const untilSettled = async <T>(clock: VirtualClock, work: Promise<T>) => {
  let over = false
  const settled = work.finally(() => {
    over = true
  })
  settled.catch(() => {})
  await clock.run(
    async () => over,
    1_000_000,
    async () => {},
  )
  return settled
}

test('a call that never answers ends with an error that names it and its time', async () => {
  const clock = new VirtualClock()
  const late = withDeadline(clock, 25_000, 'ledger.take', new Promise(() => {}))
  await expect(untilSettled(clock, late)).rejects.toMatchObject({
    code: 'deadline',
    message: expect.stringContaining('ledger.take did not answer within 25s'),
  })
  expect(clock.now()).toBe(25_000)
})

test('a call that answers in time gives its answer or its own error', async () => {
  const clock = new VirtualClock()
  const answer = withDeadline(
    clock,
    1_000,
    'x',
    clock.sleep(999).then(() => 'yes'),
  )
  await expect(untilSettled(clock, answer)).resolves.toBe('yes')
  const error = withDeadline(clock, 1_000, 'x', Promise.reject(new Error('its own')))
  await expect(untilSettled(clock, error)).rejects.toThrow('its own')
})

test('no timer is left when the call is over', async () => {
  const clock = new VirtualClock()
  await withDeadline(clock, 1_000, 'x', Promise.resolve())
  const moved: number[] = []
  await clock.run(
    async () => false,
    10_000,
    async (now) => void moved.push(now),
  )
  expect(moved).toEqual([])
})
