// Every background thing is this loop: it never dies of an error, and starts and stops in any order.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Loop, type LoopSpec } from '../../../src/base/loop.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const middle = { float: () => 0.5, hex: () => '' }

function world(spec: Omit<LoopSpec, 'name'>) {
  const clock = new VirtualClock()
  const failed: unknown[] = []
  const loop = new Loop(
    { name: 'test', ...spec },
    { clock, random: middle, failed: (name, error) => failed.push([name, error]) },
  )
  return { clock, loop, failed }
}

test('each round says when the next one is', async () => {
  const at: number[] = []
  const { clock, loop } = world({ tick: async () => at.push(clock.now()) * 100 })
  loop.start()
  await clock.pass(1_001)
  expect(at).toEqual([0, 100, 300, 600, 1_000])
})

test('an error is told and lengthens the delay up to twenty times; a success ends that', async () => {
  const at: number[] = []
  const { clock, loop, failed } = world({
    errorDelayMs: 10,
    tick: async () => {
      at.push(clock.now())
      if (at.length <= 7 || at.length === 9) throw new Error(`round ${at.length}`)
      return 1_000
    },
  })
  loop.start()
  await clock.pass(1_721)
  expect(at.map((time, i) => time - (at[i - 1] ?? 0))).toEqual([0, 10, 20, 40, 80, 160, 200, 200, 1_000, 10])
  expect(failed).toHaveLength(8)
  expect(failed[0]).toEqual(['test', new Error('round 1')])
})

test('a tick that throws before its first await fails one round, too', async () => {
  let rounds = 0
  const { clock, loop, failed } = world({
    tick: () => {
      rounds++
      throw new Error('at once')
    },
  })
  loop.start()
  await clock.pass(2_000)
  expect(rounds).toBeGreaterThan(1)
  expect(failed).toHaveLength(rounds)
})

test('a wake begins the next round now, also when it comes during a round', async () => {
  const at: number[] = []
  const { clock, loop } = world({
    tick: async () => {
      at.push(clock.now())
      if (at.length === 2) loop.wake()
      return 1_000
    },
  })
  loop.start()
  await clock.pass(10)
  loop.wake()
  await clock.pass(990)
  expect(at).toEqual([0, 10, 10])
})

test('a stop waits for the present round, for everybody who calls it', async () => {
  let end = () => {}
  const { clock, loop } = world({
    tick: () =>
      new Promise((resolve) => {
        end = () => resolve(0)
      }),
  })
  loop.start()
  await clock.pass(1)
  const stopped: string[] = []
  void loop.stop().then(() => stopped.push('first'))
  void loop.stop().then(() => stopped.push('second'))
  await clock.pass(1)
  expect(stopped).toEqual([])
  end()
  await clock.pass(1)
  expect(stopped).toEqual(['first', 'second'])
})

test('an error of a round that was stopped is not told', async () => {
  const { clock, loop, failed } = world({
    tick: (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  loop.start()
  await clock.pass(1)
  await loop.stop()
  expect(failed).toEqual([])
})

test('the age of the last success is known, and no failure moves it', async () => {
  let rounds = 0
  const { clock, loop } = world({
    tick: async () => {
      if (++rounds > 1) throw new Error('from now on')
      return 100
    },
  })
  expect(loop.successAgeMs).toBeUndefined()
  loop.start()
  await clock.pass(5_000)
  expect(rounds).toBeGreaterThan(2)
  expect(loop.successAgeMs).toBe(5_000)
})

test('started and stopped in any order, one round runs at a time, and the last word counts', async () => {
  const commands = fc.array(fc.constantFrom('start', 'stop', 'stop and wait', 'wake', 'pass'), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(commands, fc.boolean(), fc.integer({ min: 0, max: 30 }), async (steps, on, roundMs) => {
      let inside = 0
      let rounds = 0
      const { clock, loop, failed } = world({
        tick: async () => {
          expect(++inside).toBe(1)
          rounds++
          await clock.sleep(roundMs)
          inside--
          return 7
        },
      })
      const stops: Promise<void>[] = []
      for (const step of steps) {
        if (step === 'start') loop.start()
        if (step === 'wake') loop.wake()
        if (step === 'pass') await clock.pass(5)
        if (step.startsWith('stop')) stops.push(loop.stop())
        if (step === 'stop and wait') await clock.pass(roundMs + 1)
      }
      if (on) loop.start()
      else stops.push(loop.stop())
      await clock.pass(100)
      await Promise.all(stops)
      const before = rounds
      await clock.pass(200)
      expect(rounds > before).toBe(on)
      expect(failed).toEqual([])
    }),
    { numRuns: 200 },
  )
})
