// What a run of the simulator prints: a line while it goes on, and in the end how often everything happened.
import { type Counts, type FaultName, faultNames, invariantNames, Tally } from './tally.ts'
import type { Verdict } from './verdict.ts'

/** Fewer histories than this are a look at single seeds: that a fault did not fire in them says nothing. */
const enough = 60

export class Report {
  readonly #tally = new Tally()
  readonly #wanted: number
  readonly #impossible: readonly FaultName[]
  readonly #began = performance.now()
  readonly wrong: { readonly seed: number; readonly what: readonly string[] }[] = []
  #done = 0
  #virtualMs = 0
  #starts = 0
  #steps = 0

  /** `wanted`: how many histories there will be; `impossible`: faults that cannot fire in them. */
  constructor(wanted: number, impossible: readonly FaultName[] = []) {
    this.#wanted = wanted
    this.#impossible = impossible
  }

  add({ seed, wrong, counts, virtualMs, starts, steps }: Verdict): void {
    this.#done++
    this.#virtualMs += virtualMs
    this.#starts += starts
    this.#steps += steps
    this.#tally.add(counts)
    if (wrong.length > 0) this.wrong.push({ seed, what: wrong })
  }

  get counts(): Counts {
    return this.#tally
  }

  /** How far it is, and when it will be over. */
  progress(): string {
    const seconds = (performance.now() - this.#began) / 1_000
    const left = this.#done === 0 ? '?' : Math.ceil((seconds / this.#done) * (this.#wanted - this.#done))
    return `${number(this.#done)} of ${number(this.#wanted)} histories in ${seconds.toFixed(0)} s, violations ${this.wrong.length}, ~${left} s left`
  }

  /** What is wrong with the run itself: a check that could not fail proves nothing. */
  idle(): string[] {
    return this.#done >= enough ? this.#tally.missing(this.#impossible) : []
  }

  lines(): string[] {
    const seconds = ((performance.now() - this.#began) / 1_000).toFixed(0)
    const hours = (this.#virtualMs / 3_600_000).toFixed(1)
    const bound =
      this.wrong.length === 0 ? `, 95 % bound ${((3 / this.#done) * 100).toPrecision(2)} % of histories (3/N)` : ''
    return [
      'how often each fault fired:',
      ...faultNames.map((name) => `  ${number(this.#tally.faults[name] ?? 0).padStart(12)}  ${name}`),
      'how often each invariant was looked at where it could fail:',
      ...columns(invariantNames.map((name) => `${name} ${number(this.#tally.checks[name] ?? 0)}`)),
      `${number(this.#done)} histories, ${hours} hours of virtual time, ${number(this.#starts)} starts, ${number(this.#steps)} events, in ${seconds} s`,
      `violations ${this.wrong.length}${bound}`,
    ]
  }
}

const number = (value: number) => value.toLocaleString('en-US')

function columns(cells: readonly string[]): string[] {
  const rows: string[] = []
  for (let at = 0; at < cells.length; at += 6)
    rows.push(
      `  ${cells
        .slice(at, at + 6)
        .map((cell) => cell.padEnd(16))
        .join('')}`.trimEnd(),
    )
  return rows
}
