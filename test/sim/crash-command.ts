// `npm run sim -- --crash-points`: every crash point of every scenario, on all cores. With `--scenario NAME --point N` one of
// them is played, and its story told.
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { playScenario, type Swept, sweepPoints } from './crash-points.ts'
import { type Fate, fates, type Scenario, scenarios } from './scenarios.ts'

/** One scenario with one fate: what a process is given at a time. */
interface Task {
  readonly scenario: string
  readonly fate: Fate
}

const progressMs = 5_000
const storyLines = 4_000
/** Of one scenario and fate, so many faults are told in words. */
const wordsMost = 5

/** Reads the rest of the command line and does what it says; true when nothing was wrong. */
export async function crashPoints(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'crash-points': { type: 'boolean' },
      scenario: { type: 'string' },
      point: { type: 'string' },
      fate: { type: 'string' },
      processes: { type: 'string', default: String(availableParallelism()) },
    },
  })
  const { scenario: wanted, fate: only } = values
  const chosen = scenarios.filter(({ name }) => wanted === undefined || name === wanted)
  if (chosen.length === 0)
    throw new Error(`--scenario is ${wanted}; expected one of:\n  ${scenarios.map(({ name }) => name).join('\n  ')}`)
  const fate = fates.find((each) => each === only)
  if (only !== undefined && !fate) throw new Error(`--fate is ${only}; expected one of: ${fates.join(', ')}`)
  if (values.point !== undefined) return tell(chosen[0] as Scenario, whole('point', values.point), fate ?? 'dies')
  const tasks = chosen.flatMap((scenario) =>
    scenario.fates.filter((each) => !fate || each === fate).map((each) => ({ scenario: scenario.name, fate: each })),
  )
  return sweepAll(tasks, Math.max(1, whole('processes', values.processes)))
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} is ${text}; expected a whole number`)
  return value
}

/** One play, with its story. */
async function tell(scenario: Scenario, point: number, fate: Fate): Promise<boolean> {
  const { story, at, stuck, broken, end } = await playScenario(scenario, point, fate, storyLines)
  for (const line of [...story, at, `stuck: ${stuck ?? 'no'}`, ...broken, end]) console.log(line)
  return !stuck && broken.length === 0
}

async function sweepAll(tasks: readonly Task[], processes: number): Promise<boolean> {
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1_000
  console.log(
    `crash points of ${new Set(tasks.map(({ scenario }) => scenario)).size} scenarios, ${processes} processes`,
  )
  let played = 0
  const wanted = await countPoints(tasks)
  const line = setInterval(() => {
    const left = played === 0 ? '?' : Math.ceil((seconds() / played) * (wanted - played))
    console.log(`${played} of ${wanted} plays in ${seconds().toFixed(0)} s, ~${left} s left`)
  }, progressMs)
  const all: Swept[] = []
  const waiting = [...tasks]
  const shares = Array.from({ length: Math.min(processes, tasks.length) }, () =>
    share(
      () => waiting.shift(),
      (message) => {
        if (message === 'played') return played++
        console.log(lineOf(message))
        for (const what of message.wrong.slice(0, wordsMost)) console.log(`    ${what}`)
        if (message.wrong.length > 0) console.log(`    ${howToPlay(message)}`)
        return all.push(message)
      },
    ),
  )
  const failed = (await Promise.allSettled(shares)).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  clearInterval(line)
  const sum = (of: (swept: Swept) => number) => all.reduce((total, swept) => total + of(swept), 0)
  const wrong = sum((swept) => swept.wrong.length)
  console.log(
    `total: points ${sum(({ points }) => points)}, crashes ${sum(({ crashes }) => crashes)}, stuck ${sum(({ stuck }) => stuck)}, ` +
      `doubled ${sum(({ doubled }) => doubled)}, wrong ${wrong}, in ${seconds().toFixed(0)} s`,
  )
  for (const error of failed) console.log(String((error as Error).message))
  return wrong === 0 && failed.length === 0 && all.length === tasks.length
}

/** How many plays there will be: each scenario once as it is, for its port events. */
async function countPoints(tasks: readonly Task[]): Promise<number> {
  const points = new Map<string, number>()
  for (const { scenario, fate } of tasks)
    if (!points.has(scenario)) points.set(scenario, (await playScenario(named(scenario), 0, fate)).points)
  return tasks.reduce((total, { scenario }) => total + (points.get(scenario) ?? 0), 0)
}

const named = (name: string) => scenarios.find((each) => each.name === name) as Scenario

/** What a sweep found, in one line. */
export function lineOf({ scenario, fate, points, crashes, stuck, doubled, wrong }: Swept): string {
  return `${scenario}, the process ${fate}: points ${points}, crashes ${crashes}, stuck ${stuck}, doubled ${doubled}, wrong ${wrong.length}`
}

/** The command that tells the story of the first point that is wrong; 0: the play without a crash. */
function howToPlay({ scenario, fate, wrong }: Swept): string {
  const point = /^point (\d+)/.exec(wrong[0] ?? '')?.[1] ?? 0
  return `npm run sim -- --crash-points --scenario '${scenario}' --fate '${fate}' --point ${point}`
}

/** A process that is given one task after the other. */
function share(next: () => Task | undefined, heard: (message: Swept | 'played') => void): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['--crash-child'], { execArgv: process.execArgv })
  return new Promise((resolve, reject) => {
    let task = next()
    const send = () => (task ? child.send(task) : child.disconnect())
    child.on('message', (message: Swept | 'played') => {
      heard(message)
      if (message === 'played') return
      task = next()
      send()
    })
    child.on('exit', (code) =>
      task ? reject(new Error(`a process ended with ${code} in "${task.scenario}"`)) : resolve(),
    )
    send()
  })
}

if (process.argv[2] === '--crash-child')
  process.on('message', (task: Task) => {
    void sweepPoints(named(task.scenario), task.fate, () => process.send?.('played')).then((swept) =>
      process.send?.(swept),
    )
  })
