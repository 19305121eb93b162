// The arithmetic of a comparison: pairs of measures become a row, and a run is valid or not. Nothing is measured here.

/** One pair: what regrow did, and what each peer did right before or after it. */
export interface Pair {
  readonly regrow: number
  readonly peers: Readonly<Record<string, number>>
}

/** What a row is about. */
export interface RowKind {
  readonly id: string
  readonly unit: string
  /** Which of two values is the better one. */
  readonly better: 'higher' | 'lower'
  /** What is to be reached: a ratio to each peer, by peer where they differ; or where there is no peer a value. Null: it is only shown. */
  readonly mark: number | Readonly<Record<string, number>> | null
}

/** One row of the result, as `--json` prints it. */
export interface Row {
  readonly id: string
  readonly unit: string
  /** Of the pair in the middle, so that `ratio` is exactly regrow ÷ the best of `peers`. */
  readonly regrow: number
  readonly peers: Readonly<Record<string, number>>
  /** The median of the paired ratios to the best peer; null where there is no peer. */
  readonly ratio: number | null
  /** The median of the paired ratios to each of `peers`: the pair in the middle is so by the best of them alone. */
  readonly ratios: Readonly<Record<string, number>>
  /** The lowest and the highest of the paired ratios; where there is no peer, of the values. */
  readonly range: readonly [number, number]
  /** Ratios, or where there is no peer a value; null: none. */
  readonly mark: RowKind['mark']
  /** Whether the mark of each peer is; true where there is none. */
  readonly met: boolean
}

/** What a peer is known to do on two cores; a run in which it stays far below was disturbed, and says nothing. */
export interface Baseline {
  readonly what: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly value: number
}

/** The share of its baseline that a peer has to reach. */
export const baselineShare = 0.7

/** The value in the middle; of an even number the lower one of the two, since it has to be one that was measured. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}

/** The best of some values. */
export function best(values: readonly number[], better: RowKind['better']): number {
  return better === 'higher' ? Math.max(...values) : Math.min(...values)
}

/** A row out of its pairs, of which there is at least one. */
export function rowOf({ id, unit, better, mark }: RowKind, pairs: readonly Pair[]): Row {
  const peerless = Object.keys(pairs[0]?.peers ?? {}).length === 0
  const compared = pairs.map((pair) => ({
    ...pair,
    by: peerless ? pair.regrow : pair.regrow / best(Object.values(pair.peers), better),
  }))
  const by = compared.map((each) => each.by)
  const middle = median(by)
  const { regrow, peers } = compared.find((each) => each.by === middle) as Pair
  const range = [Math.min(...by), Math.max(...by)] as const
  const ratios = Object.fromEntries(
    Object.keys(peers).map((name) => [
      name,
      median(pairs.map((pair) => pair.regrow / (pair.peers[name] ?? Number.NaN))),
    ]),
  )
  const reached = (value: number, least: number) => (better === 'higher' ? value >= least : value <= least)
  const met =
    typeof mark === 'number'
      ? reached(middle, mark)
      : Object.entries(mark ?? {}).every(([name, least]) => reached(ratios[name] ?? Number.NaN, least))
  return { id, unit, regrow, peers, ratio: peerless ? null : middle, ratios, range, mark, met }
}

/** Why a run is not valid, in words; null when the peer did what it is known to do. */
export function tooSlow({ what, unit, better, value }: Baseline, measured: readonly number[]): string | null {
  const middle = median(measured)
  const least = better === 'higher' ? value * baselineShare : value / baselineShare
  if (better === 'higher' ? middle >= least : middle <= least) return null
  const word = better === 'higher' ? 'at least' : 'at most'
  return `${what}: ${shown(middle)} ${unit}, expected ${word} ${shown(least)} (its baseline is ${shown(value)})`
}

/** A figure with as many digits as it deserves. */
export function shown(value: number): string {
  if (Number.isNaN(value)) return '–'
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
