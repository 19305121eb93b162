// The inspector in SQL. Whole-table counts have a time limit: a person waits, the database must not.

import type {
  DropVerdict,
  HealRow,
  Inspector,
  JobRow,
  PauseRow,
  QuarantinedKey,
  SweepRow,
} from '../../../../store/inspector.ts'
import type { Row, SqlDatabase } from '../../../../store/sql-client.ts'
import { whereParams } from '../quarantine/quarantine-where.ts'
import type { Statements } from '../statements-by-schema.ts'

const timeoutMs = 15_000

const queuesShown = 20

/** Milliseconds of the store as an instant. */
export const date = (ms: unknown): Date => new Date(Number(ms))
export const dateOrNull = (ms: unknown): Date | null => (ms === null ? null : date(ms))
/** A statement for the schema before has no such column, or null in it. */
const numberOrNull = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value))

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

export function sqlInspector(db: SqlDatabase, texts: () => Statements): Inspector {
  return {
    async jobs(leaseMs) {
      const { rows } = await db.queryWithin(timeoutMs, texts().status.jobs, [leaseMs])
      const setBackAt = numberOrNull(rows[0]?.set_back_at_ms)
      const setBack = setBackAt === null ? null : { at: date(setBackAt), byMs: Number(rows[0]?.set_back_ms) }
      const pulse = { missing: rows[0]?.pulse_missing === true, setBack }
      return { at: date(rows[0]?.at_ms), jobs: rows.filter(({ job }) => job !== null).map(jobOf), pulse }
    },
    async workers(leaseMs) {
      const { rows } = await db.query(texts().status.workers, [leaseMs])
      return rows.map((row) => ({
        id: row.id as string,
        host: row.host as string,
        pid: Number(row.pid),
        jobs: JSON.parse(row.jobs as string) as string[],
        startedAt: date(row.started_ms),
        beatAt: date(row.beat_ms),
        live: row.live === true,
        leaseMs: numberOrNull(row.lease_ms),
        running: Number(row.running),
        stuck: Number(row.stuck),
      }))
    },
    async queues() {
      const { rows } = await db.query(texts().status.queues, [queuesShown])
      return rows.map((row) => ({ name: row.queue as string, lookedAt: date(row.looked_ms) }))
    },
    async heals(limit) {
      return (await db.query(texts().status.heals, [limit])).rows.map(healOf)
    },
    async names(job) {
      const { rows } = await db.query(texts().status.names, [job])
      return rows.map((row) => row.job as string)
    },
    async quarantined(job, after, limit, where) {
      const params = [...whereParams(job, where), after?.job ?? null, after?.key ?? null, limit]
      const { rows } = await db.queryWithin(timeoutMs, texts().quarantine.list, params)
      return rows.map(quarantinedOf)
    },
    async find(job, key) {
      const { rows } = await db.query(texts().quarantine.show, [job, key])
      const row = rows[0]
      if (!row) return null
      const intent = {
        input: row.input as string,
        createdAt: date(row.created_ms),
        runAt: dateOrNull(row.run_ms),
        uniqueKey: row.unique_key as string | null,
      }
      return { ...quarantinedOf(row), intent: row.input === null ? null : intent }
    },
    async release(job, keys, author) {
      const { rows } = await db.query(texts().quarantine.release, [job, distinct(keys), author])
      return rows.map((row) => row.key as string)
    },
    async drop(job, keys, author) {
      const { rows } = await db.query(texts().quarantine.drop, [job, distinct(keys), author])
      return rows.map((row) => ({ key: row.key as string, verdict: row.verdict as DropVerdict }))
    },
  }
}

const distinct = (keys: readonly string[]) => JSON.stringify([...new Set(keys)])

function jobOf(row: Row): JobRow {
  return {
    job: row.job as string,
    running: Number(row.running),
    retrying: Number(row.retrying),
    quarantined: Number(row.quarantined),
    intents: Number(row.intents),
    workers: Number(row.workers),
    noProgress: Number(row.no_progress),
    unowned: row.unowned_ms === null ? null : { count: Number(row.unowned), since: date(row.unowned_ms) },
    sweep: row.next_ms === null ? null : sweepOf(row),
    pause: row.since_ms === null ? null : pauseOf(row),
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

function healOf(row: Row): HealRow {
  return {
    queue: row.queue as string,
    epoch: Number(row.epoch),
    at: date(row.lost_ms),
    how: row.how as HealRow['how'],
    noticedBy: row.noticed_by as string,
    pushed: Number(row.pushed),
    jobsLeft: Number(row.jobs_left),
    endedAt: dateOrNull(row.ended_ms),
  }
}

function quarantinedOf(row: Row): QuarantinedKey {
  return {
    job: row.job as string,
    key: row.key as string,
    version: row.version as string | null,
    failures: Number(row.failures),
    crashes: Number(row.crashes),
    error: row.error as string | null,
    since: date(row.since_ms),
  }
}
