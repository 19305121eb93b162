// What the workers of `npm run chaos -- wipe` and `-- schedules` wrote down, also those that were killed, in the order of time.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Note {
  /** Ms of the machine's clock, which its database shares. */
  readonly at: number
  readonly word: string
  readonly rest: string
}

export function readWorkerNotes(folder: string): Note[] {
  return readdirSync(folder)
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
    .flatMap((line) => {
      const [, at, word = '', rest = ''] = /^(\d+) (\S+) ?(.*)$/.exec(line) ?? []
      return at ? [{ at: Number(at), word, rest }] : []
    })
    .sort((a, b) => a.at - b.at)
}

/** How often each thing went wrong in the workers' loops, most frequent first. */
export function troubles(notes: readonly Note[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const { word, rest } of notes)
    if (['failed', 'stalled', 'down'].includes(word)) {
      const what = `${word} ${rest}`
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  return [...counts].sort(([, a], [, b]) => b - a)
}

/** Middle, nine tenths, and worst of some times; NaN of none. */
export function spreadOf(times: readonly number[]): { median: number; p90: number; max: number } {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
  return { median: at(0.5), p90: at(0.9), max: sorted.at(-1) ?? Number.NaN }
}
