// The same thing is said at once, then at growing intervals with how often it happened.
import { expect, test } from 'vitest'
import { Repeats } from '../../../src/base/repeats.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

function scene() {
  const clock = new VirtualClock()
  const said: [at: number, what: string, more: number][] = []
  const repeats = new Repeats<string>(clock, (what, more) => said.push([clock.now(), what, more]))
  return { clock, said, repeats }
}

test('what goes on happening is said at once, after 10 s, and then after twice as long each time', async () => {
  const { clock, said, repeats } = scene()
  for (let at = 0; at < 80_000; at += 500) {
    repeats.tell('down', `at ${at}`)
    await clock.pass(500)
  }
  expect(said.map(([at, , more]) => [at, more])).toEqual([
    [0, 0],
    [10_000, expect.closeTo(19, -1)],
    [30_000, expect.closeTo(39, -1)],
    [70_000, expect.closeTo(79, -1)],
  ])
})

test('what stopped happening is said at once when it comes back', async () => {
  const { clock, said, repeats } = scene()
  repeats.tell('a', 'first')
  await clock.pass(11_000)
  repeats.tell('a', 'second')
  expect(said).toEqual([
    [0, 'first', 0],
    [11_000, 'second', 0],
  ])
})

test('a flush says what was held back, and nothing is said later', async () => {
  const { clock, said, repeats } = scene()
  for (const word of ['one', 'two', 'three']) repeats.tell('a', word)
  repeats.tell('b', 'other')
  repeats.flush()
  await clock.pass(60_000)
  expect(said).toEqual([
    [0, 'one', 0],
    [0, 'other', 0],
    [0, 'three', 1],
  ])
})

test('of any number of different things a bounded number is told apart', () => {
  const { said, repeats } = scene()
  for (let i = 0; i < 1_000; i++) repeats.tell(`kind ${i}`, `kind ${i}`)
  expect(said).toHaveLength(201)
  repeats.flush()
  expect(said.at(-1)).toEqual([0, 'kind 999', 798])
})
