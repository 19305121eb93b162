// One seed, judged: its history, and for some seeds twice over, to see that it replays; and once without faults, to see that
// faults change nothing of how it ends.
import { type HistoryOptions, history, type Told } from './history.ts'

export interface Verdict extends Omit<Told, 'violations' | 'story' | 'end'> {
  /** What must never happen and did, in words. */
  readonly wrong: readonly string[]
}

/** One in so many seeds is played again; odd, so that two processes that share seeds out have as much of it. */
const againEvery = 41

export async function judge(seed: number, options: HistoryOptions = {}): Promise<Verdict> {
  const { violations, story: _, end, ...told } = await history(seed, options)
  const wrong = violations.map(({ invariant, what, atMs }) => `${invariant} at ${Math.round(atMs)} ms: ${what}`)
  if (wrong.length === 0 && seed % againEvery === 0) {
    const again = await history(seed, options)
    if (again.hash !== told.hash) wrong.push(`it does not replay: ${told.hash}, then ${again.hash}`)
    const calm = await history(seed, { ...options, faultless: true })
    for (const { invariant, what } of calm.violations) wrong.push(`without faults ${invariant}: ${what}`)
    const difference = differing(calm.end, end)
    if (difference) wrong.push(`it ends otherwise than without faults: ${difference}`)
  }
  return { ...told, wrong }
}

/** The first key that both histories have and that ended differently; who survived decides which jobs were worked on. */
function differing(calm: string, storm: string): string | undefined {
  const byKey = (end: string) => new Map(end.split('\n').map((line) => line.split('\t') as [string, string]))
  const other = byKey(storm)
  for (const [key, ending] of byKey(calm))
    if (other.has(key) && other.get(key) !== ending) return `${key}: ${ending}, with faults ${other.get(key)}`
  return undefined
}
