// `npm run mutants`: plants one bug after the other in a copy of the sources, and sees whether what has to find it does. It is the
// proof that the checkers can fail. `--only name` takes one, `--by sim` those that
// one kind of finder has to find, `--seeds N` so many histories each, `--processes N` mutants at a time.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { endAll, type Found, find, type Patience } from './find.ts'
import { mutants } from './list.ts'
import type { Finder, Mutant } from './mutant.ts'
import { copyOf, plant, remove, removeAll, root } from './tree.ts'

interface Fate extends Found {
  readonly mutant: Mutant
  readonly seconds: number
}

/** 2,000 histories take some minutes on one core. */
const timeMs = 1_800_000
/** Histories without a bug, to see that the simulator works at all. */
const soundSeeds = 20

function readFlags() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      by: { type: 'string', multiple: true },
      seeds: { type: 'string', default: '2000' },
      processes: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    },
  })
  const { only, by } = values
  const chosen = mutants.filter(
    ({ name, finder }) => (only?.includes(name) ?? true) && (by?.includes(finder.by) ?? true),
  )
  const unknown = (only ?? []).filter((name) => !mutants.some((mutant) => mutant.name === name))
  if (unknown.length > 0)
    throw new Error(
      `no mutant is called ${unknown.join(', ')}; there are: ${mutants.map(({ name }) => name).join(', ')}`,
    )
  return { chosen, seeds: Number(values.seeds), processes: Number(values.processes) }
}

/** A finder that finds something where there is no bug proves nothing. */
async function sound(sources: string, finders: readonly Finder[], processes: number): Promise<string[]> {
  const told = await eachOf(finders, processes, async (finder) => {
    const found = await find(sources, finder, { seeds: soundSeeds, timeMs })
    const name = finder.by === 'sim' ? 'the simulator' : finder.file
    return /^(not seen|.* passes$)/.test(found.how) ? [] : [`${name} does not pass without a mutant: ${found.how}`]
  })
  return told.flat()
}

async function fateOf(sources: string, mutant: Mutant, patience: Patience): Promise<Fate> {
  const began = performance.now()
  const folder = copyOf(sources)
  try {
    plant(folder, mutant)
    const found = await find(folder, mutant.finder, patience)
    return { ...found, mutant, seconds: (performance.now() - began) / 1_000 }
  } finally {
    remove(folder)
  }
}

/** `work` on each item, so many at a time. */
async function eachOf<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const left = [...items]
  const next = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) results.push(await work(item))
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  return results
}

function line({ mutant, found, how, seeds, seconds }: Fate): string {
  const finder = mutant.finder.by === 'sim' ? `sim ${found ? `seed ${seeds}` : ''}` : mutant.finder.by
  return `${found ? 'killed' : 'LIVES '}  ${mutant.name.padEnd(30)} ${finder.padEnd(14)} ${seconds.toFixed(0).padStart(4)} s  ${how}`
}

process.once('exit', () => {
  endAll()
  removeAll()
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const { chosen, seeds, processes } = readFlags()
const sources = copyOf(root)
const finders = new Map(chosen.map(({ finder }) => [JSON.stringify(finder), finder]))
console.log(`${chosen.length} mutants; first their ${finders.size} finders without one`)
const unsound = await sound(sources, [...finders.values()], processes)
for (const text of unsound) console.log(text)
const fates = await eachOf(chosen, processes, async (mutant) => {
  const fate = await fateOf(sources, mutant, { seeds, timeMs })
  console.log(line(fate))
  return fate
})
const killed = fates.filter(({ found }) => found)
const needed = killed.flatMap((fate) => (fate.seeds === null ? [] : [fate.seeds])).sort((a, b) => a - b)
if (needed.length > 0)
  console.log(`histories until found: median ${needed[needed.length >> 1]}, most ${needed[needed.length - 1]}`)
console.log(`${killed.length}/${fates.length} killed`)
process.exitCode = killed.length === fates.length && unsound.length === 0 ? 0 : 1
