// What recurs: a schedule has a row, and each of its instants becomes a slot, a row that ran or was skipped with a reason.
// Decisions are made outside; a write goes through only where nobody else has written since it was read.
import type { StoreTransaction } from './transaction.ts'

/** Why an instant did not run. */
export type SkipReason = 'missed' | 'paused' | 'ended' | 'replaced' | 'overlap' | 'dropped'

/** A schedule as somebody declares it. Times are epoch ms. */
export interface ScheduleSpec {
  readonly name: string
  readonly job: string
  /** Whose hints its slots are: the job's own, or those of the job that hands work over. */
  readonly lane: string
  /** Cron text, or the text of a calendar interval (src/job/calendar-interval.ts). */
  readonly cron: string | null
  readonly everyMs: number | null
  readonly tz: string
  readonly startAtMs: number | null
  readonly endAtMs: number | null
  /** 'once', 'skip', or 'all' and how many: 'all 10'. */
  readonly missed: string
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly jitterMs: number
  /** What is handed over: the key of a row, or an input as JSON text. */
  readonly key: string | null
  readonly input: string | null
  /** By code; otherwise by a call at run time. */
  readonly declared: boolean
}

/** A slot that has not ended. */
export interface OpenSlot {
  readonly slotMs: number
  readonly dueMs: number
  readonly key: string
  /** An edit came since it was made, and nobody has looked yet whether it is still in the pattern. */
  readonly held: boolean
  /** When it first began; null: it has not. */
  readonly begunMs: number | null
  /** What the ledger says of one that has begun: somebody's claim is on it, or it waits for a person. */
  readonly standing: 'claimed' | 'quarantined' | null
}

/** A schedule that has not ended, with its open slots. */
export interface ScheduleRow extends ScheduleSpec {
  readonly version: number
  readonly term: number
  readonly fromMs: number
  readonly lastSlotMs: number | null
  readonly paused: boolean
  /** Its slots hand over, and the job that gets what they hand over is paused. */
  readonly jobPaused: boolean
  /** When the intent of an earlier slot was handed over that still waits or runs; null: there is none. */
  readonly handedMs: number | null
  /** A live worker has its job. */
  readonly live: boolean
  readonly open: readonly OpenSlot[]
  /** Instants after `lastSlotMs` that have run already, under a clock that was ahead; almost always none. */
  readonly ran: readonly number[]
}

/** One slot as it shall be from now on. */
export interface SlotWrite {
  readonly schedule: string
  readonly slotMs: number
  readonly version: number
  readonly lane: string
  readonly key: string
  readonly dueMs: number
  /** `withdrawn`: it has not begun, its row goes, and it is made again in its turn. */
  readonly state: 'waiting' | 'skipped' | 'withdrawn'
  readonly reason: SkipReason | null
  /** It stands for all instants up to this one; null: for itself. */
  readonly throughMs: number | null
  /** How many these are; null: nobody counted them. */
  readonly count: number | null
  /** Its handler is about to start. */
  readonly begins: boolean
}

/** Work that a slot hands over: the key of a row, or the id of an intent that was made for it. */
export interface Handed {
  readonly job: string
  readonly intent: string | null
  readonly key: string | null
}

/** What is written of one schedule, if it still is as it was read. */
export interface ScheduleWrite {
  readonly name: string
  readonly term: number
  readonly lastSlotMs: number | null
  readonly slots: readonly SlotWrite[]
}

/** What the yearly clean-up of an audit did. */
export interface Tidied {
  /** Schedules that nobody has declared for too long, ended now. */
  readonly ended: readonly string[]
  /** Slots older than what is kept. */
  readonly forgotten: number
}

/** What an audit puts right. */
export interface ScheduleUpkeep {
  /**
   * Brings schedules back to the present that went further than the store's time: its clock was set back. What ran does not run
   * again. Returns those that were brought back.
   */
  rewind(names: readonly string[]): Promise<string[]>
  /** Ends what nobody declares any more, and forgets old slots. */
  tidy(leaseMs: number): Promise<Tidied>
}

export interface Schedules {
  readonly upkeep: ScheduleUpkeep
  /**
   * Adds schedules, or changes those of the same name: their version is raised, and slots that have not begun are held. One
   * that a person ended stays as it is. In `tx` where one is given. Returns the names that are there now, as declared by code or not
   * as they were asked for.
   */
  declare(specs: readonly ScheduleSpec[], tx?: StoreTransaction): Promise<string[]>
  /** Schedules by name, and the store's time. `leaseMs`: how long a silent worker counts as live. */
  look(names: readonly string[], leaseMs: number): Promise<{ atMs: number; rows: ScheduleRow[] }>
  /** The next schedules by name, for an audit. */
  page(after: string | null, limit: number, leaseMs: number): Promise<{ atMs: number; rows: ScheduleRow[] }>
  /** Writes what was decided; returns the schedules that were as they had been read. `audited` stamps them. */
  write(writes: readonly ScheduleWrite[], options?: { audited?: boolean }): Promise<Set<string>>
  /**
   * Wins the audit that is due: one process at a time. `waitMs`: how long until the next one; 0: it is ours. `missing`: one of
   * `declared`, names with the version that this process declared, is not there or older: it has to be declared again.
   */
  turn(everyMs: number, declared?: ReadonlyMap<string, number>): Promise<{ waitMs: number; missing: boolean }>
  /** Notes what the slot of this key hands over, in `tx` where one is given. */
  hand(key: string, handed: Handed, tx?: StoreTransaction): Promise<void>
  /** Ends slots outside of the ledger, in `tx` where one is given: as run, or as skipped for a reason. */
  finish(keys: readonly string[], options?: { tx?: StoreTransaction | undefined; skipped?: SkipReason }): Promise<void>
}
