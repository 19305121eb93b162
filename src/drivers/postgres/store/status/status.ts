// How jobs, workers and queues stand, in SQL. Whole-table counts have a time limit: a person waits, the database must not.

import type { HealRow, JobRow, StoreStatus } from '../../../../store/status.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'
import { keyFacts } from './key-facts.ts'
import { date, dateOrNull, numberOrNull, pauseOf, sweepOf } from './rows.ts'

const timeoutMs = 15_000

const queuesShown = 20

export function sqlStatus(db: SqlDatabase, texts: () => Statements): StoreStatus {
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
    key: keyFacts(db, texts),
    async declarations(leaseMs) {
      const { rows } = await db.query(texts().status.declarations, [leaseMs])
      return rows.map((row) => ({
        host: row.host as string,
        pid: Number(row.pid),
        startedAt: date(row.started_ms),
        jobs: JSON.parse(row.jobs as string) as Record<string, string>,
      }))
    },
    async time() {
      const { rows } = await db.query('select (extract(epoch from regrow.clock()) * 1000)::float8 as ms')
      return Number(rows[0]?.ms)
    },
  }
}

function jobOf(row: Row): JobRow {
  return {
    job: row.job as string,
    running: Number(row.running),
    retrying: Number(row.retrying),
    quarantined: Number(row.quarantined),
    intents: Number(row.intents),
    workers: Number(row.workers),
    drainedAt: dateOrNull(row.drained_ms),
    noProgress: Number(row.no_progress),
    unowned: row.unowned_ms === null ? null : { count: Number(row.unowned), since: date(row.unowned_ms) },
    sweep: row.next_ms === null ? null : sweepOf(row),
    pause: row.since_ms === null ? null : pauseOf(row),
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
