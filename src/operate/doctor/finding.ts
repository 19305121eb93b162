// What `regrow doctor` tells: one finding, whoever found it. A finding says what, why it matters and what to do.

/** One thing that the doctor found. */
export interface DoctorFinding {
  /** `bad`: work is or will be lost sight of, or the database suffers. `warn`: worth a change. `note`: good to know. */
  readonly level: 'bad' | 'warn' | 'note'
  /** Stable word: CI may be told to ignore it. */
  readonly code: string
  /** Null: it is not about one job. */
  readonly job: string | null
  /** What was found, in one line. */
  readonly message: string
  /** Why it matters. */
  readonly why: string
  /** What to do. */
  readonly hint: string
  /** Statements that mend it, for a person to read and run; null: there is no such statement. */
  readonly fix: string | null
}
