// What passes from stage to stage: a key gains facts on its way along the upper arrow, and loses none.
import type { Outcome } from '../job/outcome.ts'
import type { PoppedHint } from '../queue/hint.ts'

/** A key that is ours: the ledger holds our take number. */
export interface Taken {
  readonly hint: PoppedHint
  readonly take: number
  readonly failures: number
  readonly crashes: number
}

/** A hint that starts nothing now. */
export interface Refused {
  readonly hint: PoppedHint
  readonly why: 'live' | 'later' | 'quarantined' | 'not pending'
  readonly waitMs: number
}

/** A run that is over. `settled`: `ctx.tx` has written the outcome already. */
export interface Ended {
  readonly entry: Taken
  readonly outcome: Outcome
  readonly settled: boolean
}
