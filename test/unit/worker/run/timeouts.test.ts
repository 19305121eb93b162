// Time limits of runs: aborted at the timeout, given up 30 s later.
import { expect, test } from 'vitest'
import type { Outcome } from '../../../../src/job/outcome.ts'
import type { RunState } from '../../../../src/worker/run/context.ts'
import { Running, type Watched } from '../../../../src/worker/run/timeouts.ts'
import { VirtualClock } from '../../../sim/virtual-clock.ts'

async function world(timeoutMs: number) {
  const clock = new VirtualClock()
  const stuck: RunState[] = []
  const recycle: number[] = []
  const running = new Running(clock, 10, {
    stuck: (state) => stuck.push(state),
    recycle: (count) => recycle.push(count),
  })
  const controller = new AbortController()
  const none = { nobodys: undefined, txCalls: undefined, aborted: undefined, timedOut: undefined }
  const given: Outcome[] = []
  const call: Watched = {
    entries: [],
    log: () => {},
    marks: new Map(),
    settled: new Set(),
    controller,
    ...none,
    timeoutMs,
    startedAt: clock.now(),
    place: -1,
    giveUp: (outcome) => given.push(outcome),
  }
  running.begin(call)
  const end = () => running.ended(call)
  const lookAt = async (ms: number) => {
    await clock.pass(ms - clock.now())
    running.look()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { running, stuck, call, signal: controller.signal, given, end, lookAt }
}

test('the signal aborts at the timeout, with a reason that says what to do', async () => {
  const { signal, lookAt, given } = await world(10_000)
  await lookAt(9_999)
  expect(signal.aborted).toBe(false)
  await lookAt(10_000)
  expect(signal.reason).toMatchObject({ code: 'timeout', message: expect.stringContaining('timeout of 10s') })
  await lookAt(39_999)
  expect(given).toEqual([])
})

test('30 s after the abort the claim is given up as a failure, and the slot counts as stuck until the handler ends', async () => {
  const { running, stuck, call, lookAt, given, end } = await world(10_000)
  await lookAt(10_000)
  await lookAt(40_000)
  expect(given).toMatchObject([{ kind: 'failure', error: { code: 'timeout' } }])
  expect(stuck).toEqual([call])
  expect([running.size, running.stuckCount]).toEqual([0, 1])
  await lookAt(90_000)
  expect(stuck).toHaveLength(1)
  end()
  await lookAt(90_001)
  expect(running.stuckCount).toBe(0)
})

test('a run that ends in time is forgotten', async () => {
  const { running, signal, lookAt, end } = await world(10_000)
  expect(running.size).toBe(1)
  end()
  await lookAt(50_000)
  expect([running.size, running.stuckCount, signal.aborted]).toEqual([0, 0, false])
})
