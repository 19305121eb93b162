// What a measuring process is told, and what it answers. One process measures one thing of one side, under Node 24.

export interface Task {
  readonly measure: 'bulk' | 'bytes' | 'drain' | 'pickup' | 'rebuild' | 'recover' | 'limits'
  /** Jobs, keys or rows; of `pickup` how often an idle worker is woken. */
  readonly jobs: number
  /** What a job is about: a row with a short key (default), one with a uuid, or an input of its own. */
  readonly data?: 'short' | 'uuid' | 'input'
  /** Guard of regrow's claims. Defaults to 'claim', as in the library. */
  readonly guard?: 'claim' | 'none'
  /** How handlers mark rows done: not at all (default), each its own, or many in one statement. */
  readonly update?: 'one' | 'many'
  /** Sizes: jobs or calls at a time, keys per batch, connections; see rows.ts. */
  readonly settings?: Readonly<Record<string, number | boolean>>
}

/** Where the servers are. */
export interface Places {
  readonly redis: string
  readonly postgres: string
}

/** Figures by name: seconds, perSecond, p50, bytes, and cpuPerJob (microseconds of the measuring process). */
export type Figures = Readonly<Record<string, number>>
