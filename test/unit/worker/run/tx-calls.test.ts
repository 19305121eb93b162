// The calls of ctx.tx of one run: which may begin, and what becomes of their connections when the run is aborted.
import { expect, test } from 'vitest'
import { TxCalls } from '../../../../src/worker/run/tx-calls.ts'
import { VirtualClock } from '../../../sim/virtual-clock.ts'

const aborted = new Error('aborted')

test('a transaction that is open when its run is aborted has five seconds to end', async () => {
  const clock = new VirtualClock()
  const calls = new TxCalls(clock)
  const closed: unknown[] = []
  calls.opened((why) => closed.push(['goes on', why]))
  const ended = calls.opened((why) => closed.push(['ends', why]))
  calls.abort(aborted)
  calls.abort(new Error('a second time'))
  await clock.pass(4_999)
  expect(closed).toEqual([])
  expect(calls.abandoned).toBeUndefined()
  ended()
  await clock.pass(1)
  expect(closed).toEqual([['goes on', aborted]])
  expect(calls.abandoned).toBe(aborted)
})

test('one that opens after the abort has five seconds, too', async () => {
  const clock = new VirtualClock()
  const calls = new TxCalls(clock)
  calls.abort(aborted)
  await clock.pass(60_000)
  let closed = 0
  calls.opened(() => closed++)
  await clock.pass(4_999)
  expect(closed).toBe(0)
  await clock.pass(1)
  expect(closed).toBe(1)
})

test('an error that nobody looked at is that of the run; one that was caught is not', async () => {
  const failure = new Error('it failed')
  const caught = new TxCalls(new VirtualClock())
  await caught.begin(true, () => Promise.reject(failure)).catch(() => {})
  expect(caught.rest()).toBeUndefined()
  expect(caught.failure).toBeUndefined()

  const unseen = new TxCalls(new VirtualClock())
  void unseen.begin(false, () => Promise.reject(failure))
  await unseen.rest()
  expect(unseen.failure).toMatchObject({ error: failure })

  const nothing = new TxCalls(new VirtualClock())
  void nothing.begin(false, () => Promise.reject(undefined))
  await nothing.rest()
  expect(nothing.failure).toMatchObject({ error: undefined })
})

test('after a call that failed another one may end the run', async () => {
  const calls = new TxCalls(new VirtualClock())
  await expect(calls.begin(true, () => Promise.reject(new Error('first')))).rejects.toThrow('first')
  expect(await calls.begin(true, async () => 'second')).toBe('second')
  await expect(calls.begin(false, async () => 'third')).rejects.toMatchObject({ code: 'tx_twice' })
  expect(calls.refused).toMatchObject({ code: 'tx_twice' })
})
