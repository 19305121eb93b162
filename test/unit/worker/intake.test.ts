// The intake pops for all jobs of a worker: none of them keeps the others waiting.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { Handler } from '../../../src/job/handler.ts'
import { readJob } from '../../../src/job/job.ts'
import { MemoryQueue } from '../../../src/queue/memory.ts'
import { Intake } from '../../../src/worker/intake.ts'
import { LookAgain } from '../../../src/worker/look-again.ts'
import { Slots } from '../../../src/worker/slots.ts'

test('a job whose hints never end does not keep another from its start', async () => {
  const queue = new MemoryQueue(systemClock)
  const handlers = ['endless', 'quiet', 'also quiet'].map((name): Handler => {
    const { job } = readJob(name.replace(' ', '-'), { pending: { text: 'select 1', values: [] } })
    return { job, many: false, batchMax: 1, run: () => {} }
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
    through: ({ job }, hints, taken) => {
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
