// What people see of schedules, and what they do with them.

import type { ScheduleSpec, SkipReason } from './schedules.ts'
import type { StoreTransaction } from './transaction.ts'

/**
 * Work that a slot handed over to another job, and how it stands. `pending`: it waits; `done`: an intent succeeded, or a row is no longer
 * pending; `dropped`: a person dropped it from quarantine; `unknown`: only the job's own query knows.
 */
export interface HandedOver {
  readonly job: string
  /** Of an input job the id of its intent. */
  readonly key: string
  readonly state: 'pending' | 'running' | 'retrying' | 'quarantined' | 'done' | 'dropped' | 'unknown'
}

/** A schedule as people see it. */
export interface TimetableRow extends ScheduleSpec {
  readonly version: number
  readonly createdAt: Date
  readonly lastSlot: Date | null
  /** The first slot that waits; null: there is none. */
  readonly nextSlot: Date | null
  /** When that one is due: its instant and its jitter. */
  readonly nextDue: Date | null
  /** A slot runs right now. */
  readonly running: boolean
  readonly lastAuditAt: Date | null
  readonly paused: { readonly reason: string; readonly author: string; readonly since: Date } | null
  /** `absent`: no live worker declared it for seven days. */
  readonly ended: { readonly at: Date; readonly why: 'person' | 'absent' } | null
  /** A live worker has its job. */
  readonly live: boolean
  /** What its last slot that handed over has handed over; null: none has, or its slots are the work. */
  readonly handed: (HandedOver & { readonly at: Date }) | null
}

/** One slot as people see it. */
export interface TimetableSlot {
  readonly at: Date
  readonly dueAt: Date
  readonly key: string
  readonly state: 'waiting' | 'ran' | 'skipped'
  readonly reason: SkipReason | null
  /** It stands for all instants up to this one; null: for itself. */
  readonly through: Date | null
  /** How many these are; null: for itself, or nobody counted them. */
  readonly count: number | null
  readonly begunAt: Date | null
  readonly endedAt: Date | null
  /** What it handed over; null: nothing. */
  readonly handed: HandedOver | null
}

/** A schedule that should run and does not. */
export interface StaleSchedule {
  readonly name: string
  readonly job: string
  /** Its slot is long due, it has none that waits, no live worker has its job, or the store has no such schedule. */
  readonly why: 'late' | 'missing' | 'absent' | 'undeclared'
  readonly since: Date
  /** When it ends if nobody declares it until then; null: it does not. */
  readonly endsAt: Date | null
}

/** What a person does to a schedule. */
export interface ScheduleControl {
  /** False: there is no such schedule, or it has ended. */
  pause(name: string, reason: string, author: string): Promise<boolean>
  /**
   * Slots whose instant passed meanwhile are skipped. One that a person ended begins again, one that is neither paused nor ended
   * stays as it is. False: there is no such schedule.
   */
  resume(name: string, author: string): Promise<boolean>
  /** Slots that have not begun are skipped: these instants. Null: there is no such schedule, or it has ended. */
  end(name: string, author: string): Promise<readonly Date[] | null>
  /** Deletes it with its slots. False: there is no such schedule. */
  remove(name: string, author: string): Promise<boolean>
  /** Makes a slot of this moment, beside the pattern. Null: there is no such schedule, it has ended, or it is paused. */
  run(name: string, author: string): Promise<{ lane: string; key: string; at: Date } | null>
}

export interface Timetable {
  readonly control: ScheduleControl
  /** The next schedules by name, ended ones too; and the store's time. */
  list(
    options: { job: string | null; after: string | null; limit: number },
    leaseMs: number,
  ): Promise<{ at: Date; rows: TimetableRow[] }>
  /** In `tx` where one is given: what it has written is seen. */
  find(name: string, leaseMs: number, tx?: StoreTransaction): Promise<TimetableRow | null>
  /** Slots of a schedule, newest first. */
  slots(name: string, limit: number): Promise<TimetableSlot[]>
  /** Schedules that should run and do not, the oldest first; `declared`: names that the code declares. */
  stale(limit: number, leaseMs: number, declared?: readonly string[]): Promise<StaleSchedule[]>
}
