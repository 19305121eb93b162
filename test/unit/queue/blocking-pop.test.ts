// A pop that waits: what ends its sleep, and when it looks.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { Mark } from '../../../src/job/canary-mark.ts'
import { BlockingPop, type Look } from '../../../src/queue/blocking-pop.ts'
import { Waiters } from '../../../src/queue/waiters.ts'

const longMs = 3_600_000
const hint = { job: 'a', key: '1', fresh: true }
const request = { jobs: [{ job: 'a', limit: 5 }], limit: 5, waitMs: longMs }

/** A queue whose looks find what is given here, one after the other, and then nothing; `polls`: the empty looks before each sleep. */
function queueOf(found: readonly Partial<Look>[], { pollMs = longMs } = {}) {
  const looks: boolean[] = []
  const polls: number[] = []
  const waiters = new Waiters(systemClock)
  const blocking = new BlockingPop({
    clock: systemClock,
    waiters,
    look: async (_, hasNews) => {
      looks.push(hasNews)
      return { hints: [], mark: null, nextMs: Number.POSITIVE_INFINITY, ...found[looks.length - 1] }
    },
    pollMs: (emptyLooks) => {
      polls.push(emptyLooks)
      return pollMs
    },
  })
  const asleep = () => expect.poll(() => [...waiters.asleep()].length).toBe(1)
  return { blocking, waiters, looks, polls, asleep }
}

test('a push wakes a pop that waits for its job, which looks and knows that there is news', async () => {
  const { blocking, waiters, looks, asleep } = queueOf([{}, { hints: [hint] }])
  const popped = blocking.pop(request)
  await asleep()
  expect(waiters.wake(['b'])).toBe(false)
  expect(waiters.wake(['a'])).toBe(true)
  expect((await popped).hints).toEqual([hint])
  expect(looks).toEqual([false, true])
})

test('a push between the look and the sleep is not slept through', async () => {
  const { blocking, waiters } = queueOf([{}, { hints: [hint] }])
  const popped = blocking.pop(request)
  waiters.wake(['a'])
  expect((await popped).hints).toEqual([hint])
})

test('a pop that is given hints in its sleep does not look again; one that is awake is given nothing', async () => {
  const { blocking, waiters, looks, asleep } = queueOf([])
  const popped = blocking.pop(request)
  await asleep()
  const [waiter] = waiters.asleep()
  expect(waiter?.give({ hints: [hint], mark: undefined })).toBe(true)
  expect(waiter?.give({ hints: [{ ...hint, key: '2' }], mark: undefined })).toBe(false)
  expect(await popped).toEqual({ hints: [hint], mark: undefined })
  expect(looks).toEqual([false])
})

test('a delayed hint ends the sleep when it comes due, and so does a poll', async () => {
  const due = queueOf([{ nextMs: 2 }, { hints: [hint] }])
  expect((await due.blocking.pop(request)).hints).toEqual([hint])
  const polled = queueOf([{}, {}, { hints: [hint] }], { pollMs: 2 })
  expect((await polled.blocking.pop(request)).hints).toEqual([hint])
  expect([polled.looks, polled.polls]).toEqual([
    [false, false, false],
    [0, 1],
  ])
})

test('no pop sleeps in a queue that was lost: its caller compares the mark', async () => {
  const mark: Mark = { epoch: 1, sequence: 1 }
  const { blocking, looks } = queueOf([{ hints: [hint], mark }, { mark: null }])
  await blocking.pop(request)
  expect(await blocking.pop(request)).toEqual({ hints: [], mark: null })
  expect(looks).toHaveLength(2)
})

test('an abort, a close and the end of its time end a pop without another look', async () => {
  const stop = new AbortController()
  const aborted = queueOf([])
  const popped = aborted.blocking.pop(request, stop.signal)
  await aborted.asleep()
  stop.abort()
  await popped
  const closed = queueOf([])
  const ended = closed.blocking.pop(request)
  await closed.asleep()
  closed.waiters.close()
  await ended
  const over = queueOf([])
  await over.blocking.pop({ ...request, waitMs: 2 })
  expect([aborted.looks, closed.looks, over.looks]).toEqual([[false], [false], [false]])
})

test('jobs without room are not waited for', async () => {
  const { blocking, waiters, asleep } = queueOf([{}, { hints: [hint] }])
  const popped = blocking.pop({ ...request, jobs: [...request.jobs, { job: 'full', limit: 0 }] })
  await asleep()
  expect(waiters.wake(['full'])).toBe(false)
  waiters.wake(['a'])
  await popped
})
