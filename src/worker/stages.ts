// What passes from stage to stage: a key gains facts on its way along the upper arrow, and loses none.
import type { RefusalReason } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import type { Outcome, Settlement } from '../job/outcome.ts'
import type { PoppedHint } from '../queue/hint.ts'

/** A key that is ours: the ledger holds our take number. */
export interface Taken {
  readonly job: Job
  readonly key: string
  readonly fresh: boolean
  readonly take: number
  readonly failures: number
  readonly crashes: number
  /** How many keys may share its call; null: any number. */
  readonly together: number | null
  readonly ledgerVersion: string | null
}

/** A hint that starts nothing now. */
export interface Refused {
  readonly hint: PoppedHint
  readonly why: RefusalReason
  readonly waitMs: number
  readonly ledgerVersion: string | null
}

/** A key that was found pending after it was taken: it may start. */
export interface Ready extends Taken {
  readonly version: string | null
  readonly input: string | null
  /** An intent with a unique key to give up before it starts. */
  readonly unique?: boolean
}

/** A batch after its claim, sorted by what may become of each key. */
export interface CheckedBatch {
  readonly ready: Ready[]
  /** Not taken. */
  readonly refused: Refused[]
  /** Taken, but not to be started: released by the caller. */
  readonly stopped: { entry: Taken; why: 'not_pending' | 'paused' | 'not_due'; waitMs: number }[]
  /** Refused for what the old version did, but the source shows another version: new work. */
  readonly renewed: { key: string; version: string }[]
  /** Keys whose very check fails; the error is theirs. */
  readonly broken: { entry: Ready; error: unknown }[]
}

/** A run that is over. */
export interface Ended {
  readonly entry: Ready
  readonly outcome: Outcome
  readonly tookMs: number
  /** The chance in its back-off, from 0 to 1: one for all keys of a call, so that they come back together. */
  readonly chance: number
  /** `ctx.tx` has written the outcome already. */
  readonly settled: boolean
}

/** What comes of a call. */
export interface RunTells {
  /** The outcomes are known. */
  ended(list: Ended[]): void
  /** The call has really ended. */
  over(): void
}

/** A run whose outcome was sent to the store. */
export interface Settled {
  readonly ended: Ended
  readonly settlement: Settlement
  /** False: lease lost, nothing was recorded. */
  readonly held: boolean
}
