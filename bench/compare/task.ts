// What a measuring process is told, and what it answers. One process measures one thing of one side, under Node 24.

export interface Task {
  readonly measure: 'bulk' | 'single' | 'bytes' | 'drain' | 'pickup' | 'rebuild' | 'recover' | 'steady' | 'limits'
  /** Jobs, keys or rows; of `pickup` how often an idle worker is woken. */
  readonly jobs: number
  /** What a job is about: a row with a short key (default), one with a uuid, or an input of its own. */
  readonly data?: 'short' | 'uuid' | 'input'
  /** Guard of regrow's claims. Defaults to 'claim', as in the library. */
  readonly guard?: 'claim' | 'none'
  /** How handlers mark rows done: not at all (default), each its own, or many in one statement. */
  readonly update?: 'one' | 'many'
  /** Sizes: jobs or calls at a time, keys per batch, connections; see the rows. */
  readonly settings?: Readonly<Record<string, number | boolean>>
}

/** Where the servers are. Without a Redis the queue is in Postgres. */
export interface Places {
  readonly redis?: string
  readonly postgres: string
}

/** Figures by name: seconds, perSecond, p50, bytes, and cpuPerJob (microseconds of the measuring process). */
export type Figures = Readonly<Record<string, number>>

/** One interval of a continuous load. Times are percentiles 99 in milliseconds. */
export interface Sample {
  /** The end of the interval, from the begin of the load. */
  readonly atMs: number
  /** Of the statement that looks for work. */
  readonly pop: number
  /** From the enqueue call to the start of the handler, of the jobs that started in it. */
  readonly start: number
  readonly started: number
  /** Jobs that were enqueued and have not started. */
  readonly backlog: number
  /** Rows of the side's tables that are dead and still there. */
  readonly dead: number
}

/** What a continuous load was like: in the last third of the pinned time, in the calm before it, and over time. */
export interface Steady {
  readonly p99: number
  readonly startP99: number
  readonly calmP99: number
  readonly calmStartP99: number
  readonly pinnedFromMs: number
  readonly pinnedUntilMs: number
  readonly samples: readonly Sample[]
}
