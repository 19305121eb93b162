// The intake pops for all jobs of a worker: none of them keeps the others waiting.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { pledge } from '../../../src/base/deferred.ts'
import type { Handler } from '../../../src/job/handler.ts'
import { readJob } from '../../../src/job/job.ts'
import { MemoryQueue } from '../../../src/queue/memory.ts'
import type { PopQueue, PopRequest } from '../../../src/queue/queue.ts'
import { limitsOf, Slots } from '../../../src/worker/capacity.ts'
import { Intake } from '../../../src/worker/pop.ts'
import { LookAgain } from '../../../src/worker/recheck.ts'

type Given = { name: string; concurrency?: number; batch?: number }

/** An intake over handlers of these jobs; calls end when `end` is called. */
function world(queue: PopQueue, jobs: readonly Given[], size: number) {
  const handlers = jobs.map(({ name, concurrency, batch }): Handler => {
    const limits = { ...(concurrency && { concurrency }), ...(batch && { batch }) }
    const { job } = readJob(name, { pending: { text: 'select 1', values: [] }, ...limits })
    return { job, run: () => {} }
  })
  const slots = new Slots(size, limitsOf(handlers))
  const started: { job: string; keys: number }[] = []
  const intake = new Intake({
    clock: systemClock,
    queue,
    slots,
    lookAgain: new LookAgain(systemClock),
    handlers,
    mayStart: () => true,
    receipts: () => false,
    claiming: () => 0,
    slow: () => false,
    through: async ({ job }, { hints }) => {
      if (job.batch !== null) started.push({ job: job.name, keys: hints.length })
      else for (const _ of hints) started.push({ job: job.name, keys: 1 })
    },
  })
  const tick = () => intake.tick(new AbortController().signal)
  return { intake, slots, started, tick }
}

const hints = (job: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ job, key: `${i}`, delayMs: 0, fresh: true }))

test('a pop asks for no more of a job than its calls may have, and for nothing of one at its limit', async () => {
  const queue = new MemoryQueue(systemClock)
  const asked: PopRequest[] = []
  const spy: PopQueue = {
    pop: (request, signal) => {
      asked.push(request)
      return queue.pop(request, signal)
    },
  }
  const jobs = [{ name: 'few', concurrency: 2 }, { name: 'batches', concurrency: 2, batch: 3 }, { name: 'rest' }]
  const { tick, slots, started } = world(spy, jobs, 20)
  await queue.push([...hints('few', 9), ...hints('batches', 9), ...hints('rest', 3)])
  await tick()
  const limits = (request: PopRequest | undefined) =>
    Object.fromEntries(request?.jobs.map(({ job, limit }) => [job, limit]) ?? [])
  expect(limits(asked[0])).toEqual({ few: 2, batches: 6, rest: 20 })
  expect(started).toEqual([
    { job: 'few', keys: 1 },
    { job: 'few', keys: 1 },
    { job: 'batches', keys: 3 },
    { job: 'batches', keys: 3 },
    ...Array.from({ length: 3 }, () => ({ job: 'rest', keys: 1 })),
  ])
  await queue.push([{ job: 'rest', key: 'more', delayMs: 0, fresh: true }])
  await tick()
  expect(limits(asked[1])).toEqual({ rest: 13 })
  slots.give(1, 'few')
  await tick()
  expect(limits(asked[2])).toEqual({ few: 1, rest: 13 })
})

test('a job whose hints never end does not keep another from its start', async () => {
  const queue = new MemoryQueue(systemClock)
  const handlers = ['endless', 'quiet', 'also quiet'].map((name): Handler => {
    const { job } = readJob(name.replace(' ', '-'), { pending: { text: 'select 1', values: [] } })
    return { job, run: () => {} }
  })
  const slots = new Slots(5)
  const started: string[] = []
  const intake = new Intake({
    clock: systemClock,
    queue,
    slots,
    lookAgain: new LookAgain(systemClock),
    handlers,
    mayStart: () => true,
    receipts: () => false,
    claiming: () => 0,
    slow: () => false,
    through: async ({ job }, { hints }, taken) => {
      started.push(...hints.map(() => job.name))
      slots.give(taken, job.name)
    },
  })
  await queue.push(['quiet', 'also-quiet'].map((job) => ({ job, key: 'x', delayMs: 0, fresh: true })))
  for (let round = 0; round < 6; round++) {
    const more = Array.from({ length: 10 }, (_, i) => `${round}.${i}`)
    await queue.push(more.map((key) => ({ job: 'endless', key, delayMs: 0, fresh: true })))
    await intake.tick(new AbortController().signal)
  }
  expect(started).toContain('quiet')
  expect(started).toContain('also-quiet')
  expect(started.filter((job) => job === 'endless').length).toBeGreaterThan(20)
})

test('after a pop that emptied the queue the next look waits until what was found has started, or for a moment', async () => {
  const queue = new MemoryQueue(systemClock)
  const { job } = readJob('thing.make', { pending: { text: 'select 1', values: [] }, concurrency: 3 })
  const slots = new Slots(5, limitsOf([{ job, run: () => {} }]))
  let moment = () => {}
  let started = pledge()
  const intake = new Intake({
    clock: {
      ...systemClock,
      after: (_, then) => {
        moment = then
        return () => {}
      },
    },
    queue,
    slots,
    lookAgain: new LookAgain(systemClock),
    handlers: [{ job, run: () => {} }],
    mayStart: () => true,
    receipts: () => false,
    claiming: () => 0,
    slow: () => false,
    through: () => started.promise,
  })
  const round = async (count: number) => {
    await queue.push(hints('thing.make', count))
    started = pledge()
    let over = false
    const tick = intake.tick(new AbortController().signal).then(() => (over = true))
    await systemClock.gather()
    return { tick, isOver: () => over }
  }
  const first = await round(1)
  expect(first.isOver()).toBe(false)
  started.resolve()
  await first.tick
  slots.give(1, 'thing.make')
  const late = await round(1)
  expect(late.isOver()).toBe(false)
  moment()
  await late.tick
  slots.give(1, 'thing.make')
  // As many as the job may have: there may be more.
  await (await round(3)).tick
})
