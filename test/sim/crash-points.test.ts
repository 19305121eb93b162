// Every crash point of five scenarios; `npm run sim -- --crash-points` has the others.
import { expect, test } from 'vitest'
import { lineOf } from './crash-command.ts'
import { playScenario, sweepPoints } from './crash-points.ts'
import { type Fate, type Scenario, scenarios } from './scenarios.ts'

const chosen: readonly (readonly [name: string, fate: Fate])[] = [
  ['the store restarts while an outcome is recorded', 'is cut off'],
  ['a worker is told to stop while its handlers run', 'dies'],
  ['a deploy edits a schedule', 'dies'],
  ['a process drains beside its worker', 'dies'],
  ['runs that end in the same moment share a transaction', 'is cut off'],
]

const named = (name: string) => scenarios.find((scenario) => scenario.name === name) as Scenario

test.each(chosen)(
  '%s: a process that %s at any port event loses and doubles nothing',
  async (name, fate) => {
    const swept = await sweepPoints(named(name), fate)
    console.log(lineOf(swept))
    expect(swept.wrong).toEqual([])
    expect(swept.crashes).toBe(swept.points)
    expect(swept.points).toBeGreaterThan(20)
  },
  60_000,
)

test('a scenario is played the same way each time', async () => {
  const scenario = named('a handler fails twice')
  const [once, again] = [
    await playScenario(scenario, 31, 'dies', 1_000),
    await playScenario(scenario, 31, 'dies', 1_000),
  ]
  expect(once.story.length).toBeGreaterThan(100)
  expect(again).toEqual(once)
})

test('there are at least fifteen scenarios, and each has a name of its own', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length)
  expect(scenarios.length).toBeGreaterThanOrEqual(15)
})
