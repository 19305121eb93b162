// What a row of a comparison is: what regrow does for it, what each peer does for the same, and what is to be reached.
import type { Baseline, RowKind } from './figures.ts'
import type { Task } from './task.ts'

/** A side's measure and the figure of it that counts. */
export interface Measure {
  readonly task: Task
  readonly figure: 'perSecond' | 'p50' | 'bytes' | 'seconds'
}

/** What is told of a row in tables and pages. */
export interface RowText extends RowKind {
  readonly title: string
  /** Shown beside the row: nobody shall take the fastest one for the default. */
  readonly guard: 'claim' | 'none' | '–'
  /** The raw limit that is shown beside it, by its name in sides/limits.ts. */
  readonly limit: string | null
  /** Rows or jobs that regrow is measured with; of a row in seconds the raw limit is told for as many. */
  readonly jobs: number
}

export interface RowSpec extends RowText {
  readonly regrow: Measure
  /** By side, and after a comma another way of the same side ("bullmq, gathered"); empty: the mark is a value. */
  readonly peers: Readonly<Record<string, Measure>>
  /** What peers are known to reach; it decides whether the run is valid. */
  readonly baselines?: Readonly<Record<string, Baseline>>
}

/** Rows that are measured together, pair by pair: what two of them have in common is measured once per pair. */
export type Scene = readonly RowSpec[]

/** A measure of which jobs per second count. */
export const perSecond = (task: Task): Measure => ({ task, figure: 'perSecond' })
