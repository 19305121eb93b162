// Columns that several statements about the state of jobs have in common, read into the types of the port.

import type { PauseRow, SweepRow } from '../../../../store/status.ts'
import type { Row } from '../../../sql/client.ts'

/** Milliseconds of the store as an instant. */
export const date = (ms: unknown): Date => new Date(Number(ms))
export const dateOrNull = (ms: unknown): Date | null => (ms === null ? null : date(ms))
/** A statement for the schema before has no such column, or null in it. */
export const numberOrNull = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value)

/** A row of `pauses` with its times as milliseconds. */
export function pauseOf(row: Row): PauseRow {
  return {
    job: row.job as string,
    reason: row.reason as string,
    author: row.author as string,
    since: date(row.since_ms),
    until: dateOrNull(row.until_ms),
    backlog: numberOrNull(row.backlog),
  }
}

/** The columns of a job's sweep, as `inspect-jobs.sql` names them. */
export function sweepOf(row: Row): SweepRow {
  return {
    nextAt: date(row.next_ms),
    sweeping: row.sweeping === true,
    lastAttemptAt: dateOrNull(row.attempt_ms),
    lastSuccessAt: dateOrNull(row.success_ms),
    lastError: row.last_error as string | null,
    seen: Number(row.seen),
    pushed: Number(row.pushed),
    held: Number(row.held),
    tookMs: Number(row.took_ms),
    dropped: Number(row.dropped),
    unusable: numberOrNull(row.unusable) ? { count: Number(row.unusable), key: row.unusable_key as string } : null,
    everyMs: numberOrNull(row.every_ms),
    errors: Number(row.errors),
    pending:
      row.pending === null
        ? null
        : { count: Number(row.pending), estimated: row.pending_estimated === true, at: date(row.pending_ms) },
    oldestAt: dateOrNull(row.oldest_ms),
    healing: row.healing === true,
  }
}
