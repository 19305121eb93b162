// Who changes the queue's mark, and how often: a few processes on one store and one queue, for a minute of virtual time.
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'
import type { Mark } from '../../../src/job/canary-mark.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import { Canary } from '../../../src/queue/canary.ts'
import type { Queue } from '../../../src/queue/queue.ts'
import { canaryLoop, type LostPorts } from '../../../src/sweep/canary-loop.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

/** A store's copy and a queue's mark that nothing happens to but what the loops do; `changes`: when the queue's was changed. */
function world() {
  const clock = new VirtualClock()
  let [stored, bumpedAt]: [Mark, number] = [{ epoch: 1, sequence: 0 }, 0]
  let there: Mark | null = stored
  const changes: number[] = []
  const losses: number[] = []
  const wipes: number[] = []
  let setBack = false
  const ports = (rollsBack?: boolean, onSuspicion?: () => void): LostPorts => ({
    events: new Events<EventMap>(),
    canary: new Canary(onSuspicion),
    by: 'test',
    sweepNow: () => {},
    firstSeen: async () => {},
    marks: {
      async look(_, everyMs) {
        const bumps = clock.now() - bumpedAt >= everyMs
        if (bumps) bumpedAt = clock.now()
        return { mark: stored, first: false, bumps, setBack }
      },
      async raise(_, mark) {
        stored = mark
      },
      async lose() {
        losses.push(clock.now())
        setBack = false
        stored = { epoch: stored.epoch + 1, sequence: 0 }
        return stored
      },
    },
    queue: {
      name: 'test',
      shared: true,
      rollsBack,
      async setMark(mark) {
        there = mark
      },
      async advanceMark({ sequence }) {
        changes.push(clock.now())
        const found = there
        if (there) there = { ...there, sequence: sequence + 1 }
        return found
      },
      async wipe() {
        there = null
        wipes.push(clock.now())
        return 0
      },
    },
  })
  /** The loop of one process, until `untilMs`. */
  const run = async (afterMs: number, untilMs: number) => {
    const { tick } = canaryLoop(ports())
    await clock.sleep(afterMs)
    while (clock.now() < untilMs) await clock.sleep(await tick(new AbortController().signal))
  }
  /** The loop of a process that also pops each second, from a queue that cannot roll back; how often the store was asked. */
  const runAndPop = async (untilMs: number) => {
    let nap = new AbortController()
    const given = ports(false, () => nap.abort())
    let looks = 0
    const { look } = given.marks
    given.marks.look = (...args) => {
      looks++
      return look(...args)
    }
    const { canary } = given
    const queue = canary.watch({ pop: async () => ({ hints: [], mark: there }) } as unknown as Queue)
    const { tick } = canaryLoop(given)
    const pops = async () => {
      while (clock.now() < untilMs) {
        await queue.pop({ jobs: [], limit: 1, waitMs: 0 })
        await clock.sleep(1_000)
      }
    }
    const ticks = async () => {
      while (clock.now() < untilMs) {
        nap = new AbortController()
        await clock.sleep(await tick(new AbortController().signal), nap.signal)
      }
    }
    await Promise.all([pops(), ticks()])
    return looks
  }
  /** Lets a minute pass for all of them. */
  const minute = async (...loops: Promise<unknown>[]) => {
    await clock.pass(61_000)
    await Promise.all(loops)
  }
  const lose = () => {
    there = null
  }
  const stepBack = () => {
    setBack = true
  }
  const gaps = () => changes.slice(1).map((at, n) => at - (changes[n] as number))
  return { clock, run, runAndPop, minute, changes, gaps, losses, wipes, lose, stepBack }
}

test('the mark is changed twice a second however many processes there are, and never less often', async () => {
  const { run, minute, gaps } = world()
  await minute(run(1_000, 60_000), run(1_130, 60_000), run(1_410, 60_000))
  expect(Math.max(...gaps())).toBeLessThanOrEqual(500)
  expect(Math.min(...gaps())).toBeGreaterThanOrEqual(450)
})

test('a process that ends leaves the mark to the others within a second', async () => {
  const { run, minute, changes, gaps } = world()
  await minute(run(1_000, 10_000), run(1_130, 60_000))
  expect(Math.max(...gaps())).toBeLessThanOrEqual(1_000)
  expect(changes.at(-1)).toBeGreaterThan(59_000)
})

test('a loss is declared within half a second (L4)', async () => {
  const { clock, run, minute, losses, lose } = world()
  await minute(run(1_000, 20_000), run(1_130, 20_000), clock.sleep(10_001).then(lose))
  expect(losses).toHaveLength(1)
  expect(losses[0]).toBeLessThanOrEqual(10_501)
})

test("when the store's clock was set back, the queue is thrown away and declared lost within a second (L10)", async () => {
  const { clock, run, minute, losses, wipes, stepBack } = world()
  await minute(run(1_000, 20_000), run(1_130, 20_000), clock.sleep(10_001).then(stepBack))
  expect(losses).toHaveLength(1)
  expect(losses[0]).toBeLessThanOrEqual(11_001)
  expect(wipes[0]).toBeLessThanOrEqual(losses[0] as number)
})

test('while pops bring the mark of a queue that cannot roll back, it is looked at and changed each half minute', async () => {
  const { runAndPop, minute, changes } = world()
  const running = runAndPop(60_000)
  await minute(running)
  expect(await running).toBeLessThan(6)
  expect(changes.length).toBeGreaterThanOrEqual(2)
  expect(changes.length).toBeLessThan(6)
})

test('and its loss is noticed by the next pop', async () => {
  const { clock, runAndPop, minute, lose, losses } = world()
  const losing = clock.sleep(30_250).then(lose)
  await minute(runAndPop(60_000), losing)
  expect((losses[0] as number) - 30_250).toBeLessThanOrEqual(1_100)
})
