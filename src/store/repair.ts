// Rows of regrow's own tables that hold what regrow never writes: somebody else did, or a disk. One of them must cost itself alone (L10).

/** A row that was damaged, as a person finds it. */
export interface DamagedRow {
  /** One of regrow's tables, by its plain name: `sweeps`. */
  readonly table: string
  /** What it is about: a job, a worker, a schedule, or a job and its key. */
  readonly row: string
}

export interface RepairOptions {
  /** Also the tables that grow with the work: they are read whole. */
  readonly whole: boolean
  /** False: the rows are named, and stay as they are. */
  readonly mend: boolean
}

/** Names the damaged rows that can be told by one look at them, and puts them right: due now, without a wait, counted anew. */
export type Repair = (options: RepairOptions) => Promise<readonly DamagedRow[]>
