// The same steps on the simulated queue and on a real one: their answers must be alike, or the simulator proves nothing.
// Compared is what is promised. Open are: which of several hints that fell due at the same time comes first, which job is
// served first when a pop has no room for all, in which order the hints of one push reach a bound, and the order of the
// hints of one answer. Where the real queue chose, the model follows its choice. A queue may also say that it keeps places:
// then a hint that was due in the swept lane comes last when it gets into the fresh one, and finds its old place when it
// comes back to the swept one.
import assert from 'node:assert/strict'
import type { Hint, QueueBounds } from '../../../src/queue/hint.ts'
import type { Popped, PopRequest, PushOptions, Queue } from '../../../src/queue/queue.ts'
import { type SimHint, SimQueue } from '../queue/sim-queue.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { bounds, jobs, type Step } from './queue-steps.ts'

/** A real queue in virtual time; empty, and nobody else's. */
export interface QueueInTime {
  readonly queue: Queue
  readonly clock: VirtualClock
  /** Tells the server of the queue what time it is. Defaults to nothing: the queue asks `clock`. */
  readonly moved?: (now: number) => Promise<void>
  /** Where a hint stands in its lane is not only a matter of its due time; see above. Defaults to false. */
  readonly keepsPlaces?: boolean
  /** Defaults to small ones, so that steps come to them. */
  readonly bounds?: QueueBounds
}

/** Between which times a hint may stand, where that is not its due time. */
class Stands {
  /** Of hints that were due in the swept lane when they got into the fresh one. */
  readonly #behind = new Map<string, number>()
  /** Of places that were left in the swept lane. */
  readonly #left = new Map<string, number>()

  note(hints: readonly Hint[], model: SimQueue, now: number): void {
    for (const hint of hints) {
      const there = model.all().find((each) => isSame(each, hint))
      if (!hint.fresh || !there || there.fresh || there.dueAt > now) continue
      this.#behind.set(nameOf(hint), now)
      this.#left.set(nameOf(hint), Math.min(there.dueAt, this.#left.get(nameOf(hint)) ?? Infinity))
    }
  }

  earliest(hint: SimHint): number {
    return hint.fresh ? hint.dueAt : Math.min(hint.dueAt, this.#left.get(nameOf(hint)) ?? Infinity)
  }

  latest(hint: SimHint): number {
    return hint.fresh ? Math.max(hint.dueAt, this.#behind.get(nameOf(hint)) ?? -Infinity) : hint.dueAt
  }

  gone({ hints }: Popped): void {
    for (const hint of hints) this.#behind.delete(nameOf(hint))
  }
}

/** What a sequence may come to; told so that a test can see that steps reach it. */
export type Reached = 'full' | 'another epoch' | 'made sooner' | 'both lanes' | 'no room for all' | 'an old mark'

/** Takes the steps on both sides; fails where the answers differ. Returns what they came to. */
export async function agree(
  { queue, clock, moved, keepsPlaces = false, bounds: own = bounds }: QueueInTime,
  steps: readonly Step[],
): Promise<Set<Reached>> {
  const stands = new Stands()
  const model = new SimQueue(clock.now, own)
  const reached = new Set<Reached>()
  for (const [at, step] of steps.entries())
    try {
      if (step.do === 'pass') await clock.pass(step.ms, moved)
      else {
        for (const what of reaches(step, model, clock.now())) reached.add(what)
        if (keepsPlaces && step.do === 'push') stands.note(step.hints, model, clock.now())
        await take(step, model, queue, clock.now(), stands)
      }
    } catch (error) {
      throw new Error(`step ${at}, ${JSON.stringify(step)}: ${(error as Error).message}`, { cause: error })
    }
  await counted(model, queue, clock.now())
  return reached
}

/** What this step will come to, on the model as it is. */
function reaches(step: Step, model: SimQueue, now: number): Reached[] {
  const trial = new SimQueue(() => now, bounds)
  trial.restore(model.snapshot())
  const found: Reached[] = []
  if (step.do === 'push') {
    const before = trial.all()
    const { dropped, lost = 0 } = trial.push(step.hints, step.options)
    if (dropped > 0) found.push('full')
    if (lost > 0) found.push('another epoch')
    const later = (hint: SimHint) => before.some((each) => isSame(each, hint) && each.dueAt > hint.dueAt)
    if (trial.all().some(later)) found.push('made sooner')
  }
  if (step.do === 'pop') {
    const popped = trial.pop(step.request)
    if (swept(popped) > 0 && swept(popped) < popped.hints.length) found.push('both lanes')
    const left = trial.count(step.request.jobs.map(({ job }) => job))
    if (popped.hints.length > 0 && [...left.values()].some(({ due }) => due > 0)) found.push('no room for all')
  }
  if (step.do === 'advanceMark' && (trial.advanceMark(step.mark)?.sequence ?? Infinity) < step.mark.sequence)
    found.push('an old mark')
  return found
}

async function take(
  step: Exclude<Step, { do: 'pass' }>,
  model: SimQueue,
  queue: Queue,
  now: number,
  stands: Stands,
): Promise<void> {
  switch (step.do) {
    case 'push':
      return pushed(step.hints, step.options, model, queue, now)
    case 'flood':
      return flooded(step.hints, step.options, model, queue)
    case 'pop':
      return popped(step.request, model, queue, now, stands)
    case 'setMark':
      model.setMark(step.mark)
      return queue.setMark(step.mark)
    case 'advanceMark':
      return assert.deepEqual(
        await queue.advanceMark(step.mark),
        model.advanceMark(step.mark),
        'the mark that was found',
      )
    case 'count':
      return counted(model, queue, now)
    case 'wipe':
      return wiped(model, queue)
  }
}

async function pushed(hints: readonly Hint[], options: PushOptions, model: SimQueue, queue: Queue, now: number) {
  const together = isRoomy(hints, options, model, now)
  for (const part of together ? [hints] : hints.map((hint) => [hint])) {
    const expected = model.push(part, options)
    assert.deepEqual(await queue.push(part, options), expected, `push of ${JSON.stringify(part)}`)
  }
}

/** True when each lane has room for all that this push may bring there, so that the order within it decides nothing. */
function isRoomy(hints: readonly Hint[], { share = 1 }: PushOptions, model: SimQueue, now: number): boolean {
  const lane = ({ job, dueAt, fresh }: SimHint) => `${job} ${dueAt > now ? 'delayed' : fresh ? 'fresh' : 'swept'}`
  const after = new Map<string, number>()
  const add = (name: string) => after.set(name, (after.get(name) ?? 0) + 1)
  for (const hint of model.all()) add(lane(hint))
  for (const { job, key, delayMs, fresh } of hints) {
    const there = model.all().find((each) => each.job === job && each.key === key)
    const dueAt = Math.min(now + Math.max(0, delayMs), there?.dueAt ?? Infinity)
    if (!there || fresh) add(lane({ job, key, dueAt, fresh }))
  }
  return [...after].every(
    ([name, count]) => count <= share * (name.endsWith('delayed') ? bounds.maxDelayed : bounds.maxHints),
  )
}

async function flooded(hints: readonly Hint[], options: PushOptions, model: SimQueue, queue: Queue) {
  const { mark } = model.snapshot()
  assert.deepEqual(await queue.push(hints, options), model.push(hints, options), 'what became of the flood')
  await counted(model, queue)
  // Which hints of the flood got in is open.
  await wiped(model, queue)
  if (!mark) return
  model.setMark(mark)
  await queue.setMark(mark)
}

async function counted(model: SimQueue, queue: Queue, now?: number): Promise<void> {
  const found = await queue.count(jobs)
  assert.deepEqual(new Map([...found].sort()), model.count(jobs), 'count')
  if (now !== undefined) for (const job of jobs) await peeked(job, model, queue, now)
}

/** Which hints of a job there are, of those that a call may ask for; due times are told to the millisecond. */
async function peeked(job: string, model: SimQueue, queue: Queue, now: number): Promise<void> {
  const hints = model.all().filter((hint) => hint.job === job)
  if (!queue.inspection || hints.length >= 1_000) return
  const found = await queue.inspection.peek(job, [...hints.map(({ key }) => key), 'no key of any step'])
  assert.equal(found.size, hints.length, `hints of ${job} that a peek found`)
  for (const { key, dueAt, fresh } of hints) {
    const there = found.get(key)
    assert.equal(there?.fresh, fresh, `the lane of ${job} ${key}`)
    const dueInMs = Math.max(0, dueAt - now)
    assert.ok(
      Math.abs((there?.dueInMs ?? Infinity) - dueInMs) <= 1,
      `${job} ${key}: due in ${there?.dueInMs}, not ${dueInMs}`,
    )
  }
}

async function wiped(model: SimQueue, queue: Queue): Promise<void> {
  assert.equal(await queue.wipe(), model.wipe(), 'hints that the wipe found')
}

async function popped(request: PopRequest, model: SimQueue, queue: Queue, now: number, stands: Stands): Promise<void> {
  const before = model.snapshot()
  const expected = model.pop(request)
  const found = await queue.pop(request)
  assert.deepEqual(found.mark, expected.mark, 'the mark of the pop')
  const due = before.hints.filter(({ dueAt }) => dueAt <= now)
  keepsPromises(request, due, found, stands)
  stands.gone(found)
  assert.equal(found.hints.length, expected.hints.length, 'hints that were popped')
  // Where the room for single jobs does not decide, neither does the order of the jobs: then lanes are alike to the hint.
  if (request.jobs.length < 2 || request.jobs.every(({ limit }) => limit >= request.limit))
    assert.equal(swept(found), swept(expected), 'hints of the swept lane')
  model.restore(before)
  model.lose((hint) => found.hints.some((each) => isSame(each, hint)))
}

/** What holds for any pop, whichever hints the queue chose. */
function keepsPromises(request: PopRequest, due: readonly SimHint[], { hints }: Popped, stands: Stands): void {
  for (const { job, limit } of request.jobs)
    assert.ok(hints.filter((hint) => hint.job === job).length <= limit, `more of ${job} than there is room for`)
  const left = due.filter((hint) => !hints.some((each) => isSame(each, hint)))
  assert.equal(
    due.length - left.length,
    hints.length,
    `a hint twice in ${JSON.stringify(hints)}, or one that is not due`,
  )
  for (const each of hints) {
    const there = due.find((hint) => isSame(each, hint)) as SimHint
    assert.equal(each.fresh, there.fresh, `the lane of ${JSON.stringify(each)}`)
    const sooner = left.find(
      (hint) => hint.job === there.job && hint.fresh === there.fresh && stands.latest(hint) < stands.earliest(there),
    )
    assert.equal(sooner, undefined, `${JSON.stringify(there)} was popped, but this one fell due sooner`)
  }
}

const swept = ({ hints }: Popped) => hints.filter(({ fresh }) => !fresh).length
const isSame = (a: { job: string; key: string }, b: { job: string; key: string }) => a.job === b.job && a.key === b.key
const nameOf = ({ job, key }: { job: string; key: string }) => `${job} ${key}`
