// Random commands against a model that is too simple to be wrong: a list of hints. Delays are none or an hour, so that
// time decides nothing and the same seed gives the same run.
import assert from 'node:assert/strict'
import type { Hint, PoppedHint } from '../../queue/hint.ts'
import type { Queue } from '../../queue/queue.ts'
import { Seeded } from '../seeded.ts'
import type { Case } from '../suite.ts'
import { hourMs, type QueueContext } from './context.ts'

const jobs = ['a', 'b', 'c']
const bounds = { maxHints: 12, maxDelayed: 9 }

interface Entry {
  readonly job: string
  readonly key: string
  fresh: boolean
  due: boolean
}

class Model {
  entries: Entry[] = []
  mark: { epoch: number; sequence: number } | null = null

  lane(job: string, fresh: boolean): Entry[] {
    return this.entries.filter((each) => each.job === job && each.due && each.fresh === fresh)
  }

  delayed(job: string): Entry[] {
    return this.entries.filter((each) => each.job === job && !each.due)
  }

  find({ job, key }: { job: string; key: string }): Entry | undefined {
    return this.entries.find((each) => each.job === job && each.key === key)
  }

  push({ job, key, fresh, delayMs }: Hint): 'added' | 'merged' | 'dropped' {
    const due = delayMs === 0
    const full = due ? this.lane(job, fresh).length >= bounds.maxHints : this.delayed(job).length >= bounds.maxDelayed
    const found = this.find({ job, key })
    if (found) {
      if (fresh) Object.assign(found, { fresh: true, due: found.due || due })
      return 'merged'
    }
    if (full) return 'dropped'
    this.entries.push({ job, key, fresh, due })
    return 'added'
  }
}

async function push(queue: Queue, model: Model, random: Seeded): Promise<void> {
  const drawn = new Map<string, Hint>()
  for (let n = random.below(8); n >= 0; n--) {
    const [job, key] = [random.pick(jobs), `k${random.below(20)}`]
    drawn.set(`${job} ${key}`, { job, key, fresh: random.below(2) === 0, delayMs: random.pick([0, 0, hourMs]) })
  }
  // One at a time: in which order a push of many reaches a bound is the queue's own affair.
  for (const hint of drawn.values()) {
    const expected = { added: 0, merged: 0, dropped: 0 }
    expected[model.push(hint)]++
    assert.deepEqual(await queue.push([hint]), expected, JSON.stringify(hint))
  }
}

async function pop(queue: Queue, model: Model, random: Seeded): Promise<void> {
  const asked = random.shuffled(jobs).slice(0, 1 + random.below(3))
  const request = { jobs: asked.map((job) => ({ job, limit: random.below(6) })), limit: random.below(10), waitMs: 0 }
  const dueOf = ({ job, limit }: { job: string; limit: number }) =>
    Math.min(limit, model.lane(job, true).length + model.lane(job, false).length)
  const expected = Math.min(
    request.limit,
    request.jobs.reduce((sum, each) => sum + dueOf(each), 0),
  )
  const { hints, mark } = await queue.pop(request)
  assert.deepEqual(mark, model.mark)
  assert.equal(hints.length, expected, `hints of ${JSON.stringify(request)}`)
  for (const { job, limit } of request.jobs)
    assert.ok(hints.filter((each) => each.job === job).length <= limit, `over the limit of ${job}`)
  for (const each of hints) remove(model, each)
}

function remove(model: Model, popped: PoppedHint): void {
  const found = model.find(popped)
  assert.ok(found?.due, `${JSON.stringify(popped)} is no hint that is due`)
  assert.equal(popped.fresh, found.fresh, `the lane of ${JSON.stringify(popped)}`)
  model.entries = model.entries.filter((each) => each !== found)
}

async function count(queue: Queue, model: Model): Promise<void> {
  const found = await queue.count(jobs)
  for (const job of jobs) {
    const delayed = model.delayed(job).length
    const due = model.entries.filter((each) => each.job === job).length - delayed
    assert.deepEqual(found.get(job), { due, delayed }, `count of ${job}`)
  }
}

async function mark(queue: Queue, model: Model, random: Seeded): Promise<void> {
  const mark = { epoch: random.below(3), sequence: random.below(10) }
  if (random.below(3) === 0) {
    await queue.setMark(mark)
    model.mark = mark
  } else {
    const found = model.mark
    assert.deepEqual(await queue.advanceMark(mark), found)
    if (found?.epoch === mark.epoch && found.sequence >= mark.sequence)
      model.mark = { ...found, sequence: Math.max(found.sequence, mark.sequence + 1) }
  }
}

async function wipe(queue: Queue, model: Model): Promise<void> {
  assert.equal(await queue.wipe(), model.entries.length)
  model.entries = []
  model.mark = null
}

export const modelCases: readonly Case<QueueContext>[] = [
  {
    name: 'any sequence of commands does what it does to a list of hints',
    async run(context) {
      const { seed, log } = context
      log(`commands against the model: seed ${seed}`)
      const random = new Seeded(seed)
      const queue = await context.open(bounds)
      const model = new Model()
      const steps = { push, pop, count, mark, wipe }
      const weights = ['push', 'push', 'push', 'push', 'pop', 'pop', 'pop', 'count', 'mark'] as const
      for (let step = 0; step < 300; step++) {
        const name = step % 100 === 99 ? 'wipe' : random.pick(weights)
        try {
          await steps[name](queue, model, random)
        } catch (error) {
          throw new Error(`seed ${seed}, step ${step} (${name}): ${(error as Error).message}`, { cause: error })
        }
      }
    },
  },
]
