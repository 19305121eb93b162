// `--against ../older`: the measures of this checkout and those of another one, in turn on the same servers, to see what a change
// of the core costs. Both run the measuring programs of their own checkout, so both must know the row's task.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { median, shown } from './figures.ts'
import type { RowSpec } from './row.ts'
import { type Ground, type Options, once } from './run.ts'

/** A row may lose this much before the comparison fails: less cannot be told from the noise of a machine. */
const toleratedShare = 0.97

/** One pair, as a ratio in which more is better. */
export function gain({ better }: Pick<RowSpec, 'better'>, mine: number, theirs: number): number {
  return better === 'higher' ? mine / theirs : theirs / mine
}

/** Prints a line for each row, and answers the exit code: 1 when the median of a row is more than 3 % worse. */
export async function against(ground: Ground, specs: readonly RowSpec[], options: Options): Promise<number> {
  const other = new URL('bench/compare/', pathToFileURL(`${options.against}/`))
  if (!existsSync(new URL('../../dist/index.js', other)))
    throw new Error(`${options.against} is no checkout of regrow that is built: run npm ci and npm run build in it.`)
  const slower: string[] = []
  for (const spec of specs) {
    const gains: number[] = []
    const figures: { mine: number; theirs: number }[] = []
    for (let pair = 0; pair < options.pairs; pair++) {
      const found = { mine: Number.NaN, theirs: Number.NaN }
      for (const which of pair % 2 === 0 ? (['mine', 'theirs'] as const) : (['theirs', 'mine'] as const)) {
        const here = which === 'theirs' ? other : undefined
        const answered = await once(ground, 'regrow', spec.regrow.task, here)
        found[which] = answered[spec.regrow.figure] ?? Number.NaN
      }
      figures.push(found)
      gains.push(gain(spec, found.mine, found.theirs))
      ground.say(`${spec.id} ${pair + 1}/${options.pairs}: ${shown(found.mine)}, against ${shown(found.theirs)}`)
    }
    const middle = median(gains)
    if (!(middle >= toleratedShare)) slower.push(spec.id)
    const [mine, theirs] = [median(figures.map((each) => each.mine)), median(figures.map((each) => each.theirs))]
    const range = `${Math.min(...gains).toFixed(2)} to ${Math.max(...gains).toFixed(2)}`
    console.log(
      `${spec.id.padEnd(28)} ${shown(mine).padStart(10)} ${spec.unit.padEnd(7)} against ${shown(theirs).padStart(10)}  x${middle.toFixed(3)} (${range})`,
    )
  }
  console.log(
    slower.length > 0 ? `more than 3 % worse: ${slower.join(', ')}` : 'no row is more than 3 % worse than it was',
  )
  return slower.length > 0 ? 1 : 0
}
