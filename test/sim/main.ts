// `npm run sim -- --seeds 10000`: many histories on all cores. `--seed N` plays one, with `--trace` it tells its story.
// `--crash-points`: every crash point of the scripted scenarios.
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { crashPoints } from './crash-command.ts'
import { type HistoryOptions, history } from './history.ts'
import { openPglite } from './pglite-truth.ts'
import { Report } from './report.ts'
import { judge, type Verdict } from './verdict.ts'

/** The model; or the real SQL, which is some thirty times slower. */
const stores = ['model', 'pglite'] as const
type StoreChoice = (typeof stores)[number]

interface Flags {
  readonly seeds: number
  readonly from: number
  /** Played alone; undefined: many. */
  readonly seed: number | undefined
  readonly trace: boolean
  readonly processes: number
  readonly store: StoreChoice
  /** The first violation ends the run: with a bug planted, that is all there is to know. */
  readonly untilViolation: boolean
}

const progressMs = 5_000
/** A history that does not end is a bug of the simulator; nobody waits for it. */
const silentMs = 120_000
const storyLines = 60

function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      processes: { type: 'string', default: String(availableParallelism()) },
      store: { type: 'string', default: 'model' },
      'until-violation': { type: 'boolean', default: false },
    },
  })
  const whole = (name: string, text: string) => {
    const value = Number(text)
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is ${text}; expected a whole number from 1`)
    return value
  }
  const store = stores.find((name) => name === values.store)
  if (!store) throw new Error(`--store is ${values.store}; expected one of: ${stores.join(', ')}`)
  return {
    store,
    seeds: whole('seeds', values.seeds),
    from: whole('from', values.from),
    seed: values.seed === undefined ? undefined : whole('seed', values.seed),
    trace: values.trace,
    processes: whole('processes', values.processes),
    untilViolation: values['until-violation'],
  }
}

async function optionsOf(store: StoreChoice): Promise<HistoryOptions> {
  return store === 'pglite' ? { pglite: await openPglite() } : {}
}

/** One seed, with its story. */
async function one(seed: number, trace: boolean, store: StoreChoice): Promise<boolean> {
  const on = await optionsOf(store)
  const keep = trace ? 1_000_000 : storyLines
  const { story, violations, hash, virtualMs, steps } = await history(seed, { keep, ...on })
  if (trace || violations.length > 0) console.log(story.join('\n'))
  const { wrong } = await judge(seed, on)
  for (const what of wrong) console.log(`seed ${seed}: ${what}`)
  console.log(
    `seed ${seed}: ${(virtualMs / 1_000).toFixed(1)} s, ${steps} events, hash ${hash}, violations ${wrong.length}`,
  )
  return wrong.length === 0
}

/** Many seeds, shared out among processes. */
async function many({ seeds, from, processes, store, untilViolation }: Flags): Promise<boolean> {
  // A PGlite that nobody can kill loses no commits.
  const report = new Report(seeds, store === 'pglite' ? ['asynchronous commits lost'] : [])
  console.log(
    `simulating ${seeds} histories on ${store === 'pglite' ? 'PGlite' : 'the model'}, seeds ${from} to ${from + seeds - 1}, in ${processes} processes`,
  )
  const line = setInterval(() => console.log(report.progress()), progressMs)
  const enough = new AbortController()
  const shares = Array.from({ length: processes }, (_, i) =>
    share(
      store,
      Array.from({ length: seeds }, (_, n) => from + n).filter((seed) => seed % processes === i),
      (verdict) => {
        report.add(verdict)
        for (const what of verdict.wrong) console.log(`seed ${verdict.seed}: ${what}`)
        if (untilViolation && verdict.wrong.length > 0) enough.abort()
      },
      enough.signal,
    ),
  )
  const ended = await Promise.allSettled(shares)
  clearInterval(line)
  const broken = ended.flatMap((each) => (each.status === 'rejected' ? [String((each.reason as Error).message)] : []))
  const idle = enough.signal.aborted ? [] : report.idle()
  for (const text of [...report.lines(), ...idle, ...broken]) console.log(text)
  for (const { seed } of report.wrong.slice(0, 10)) console.log(`  npm run sim -- --seed ${seed} --trace`)
  return report.wrong.length + idle.length + broken.length === 0
}

/** The histories of one process; `signal` ends it early. */
function share(
  store: StoreChoice,
  seeds: readonly number[],
  heard: (verdict: Verdict) => void,
  signal: AbortSignal,
): Promise<void> {
  if (seeds.length === 0) return Promise.resolve()
  // Most of what a history makes is soon garbage: more room for the young, and less of it is looked at.
  const execArgv = [...process.execArgv, '--max-semi-space-size=64']
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['--child', store], { execArgv })
  return new Promise((resolve, reject) => {
    let left = seeds.length
    const watch = () => setTimeout(() => child.kill('SIGKILL'), silentMs)
    let watching = watch()
    child.on('message', (verdict: Verdict) => {
      clearTimeout(watching)
      watching = watch()
      left--
      if (!signal.aborted) heard(verdict)
    })
    child.on('exit', (code) => {
      clearTimeout(watching)
      if (left === 0) resolve()
      else reject(new Error(`a process of the simulator ended with ${code}, ${left} histories short`))
    })
    signal.addEventListener('abort', () => {
      left = 0
      child.kill('SIGKILL')
    })
    child.send(seeds)
  })
}

/** In a process of its own: judges the seeds it is sent. */
function child(store: StoreChoice): void {
  process.once('message', (seeds: readonly number[]) => {
    void (async () => {
      const options = await optionsOf(store)
      for (const seed of seeds) process.send?.(await judge(seed, options))
      process.disconnect()
    })()
  })
}

if (process.argv[2] === '--child') child(process.argv[3] as StoreChoice)
else if (process.argv.includes('--crash-points')) process.exitCode = (await crashPoints(process.argv.slice(2))) ? 0 : 1
else {
  const flags = readFlags()
  const well = flags.seed === undefined ? await many(flags) : await one(flags.seed, flags.trace, flags.store)
  process.exitCode = well ? 0 : 1
}
