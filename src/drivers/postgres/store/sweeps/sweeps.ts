// Whose turn it is, in SQL: compare-and-set on the row of the job.

import type { EndedTurn, Sample, Sweeps, Turn } from '../../../../store/sweeps.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'

/** A turn that gave no sign for so long is anybody's; longer than one page may take. */
const turnMs = 30_000
/** Who made the last pass waits so long for somebody else to take the next one. */
const standBackMs = 500

export function sqlSweeps(db: SqlDatabase, texts: () => Statements): Sweeps {
  return {
    async declare(jobs, { holder = null, due = false }: { holder?: string | null; due?: boolean } = {}) {
      const list = jobs.map(({ everyMs, ...rest }) => ({ ...rest, every_ms: Math.round(everyMs) }))
      await db.query(texts().sweeps.declare, [JSON.stringify(list), due, holder, turnMs])
    },
    async turn(holder, jobs, max) {
      const { rows } = await db.query(texts().sweeps.acquire, [holder, JSON.stringify(jobs), turnMs, max, standBackMs])
      const won = rows.filter((row) => row.won === true)
      // After the turn is won, as a check follows its take: the snapshot of the turn may be older than a pause or a resume
      // that gave it. What commits after this takes the turn away again.
      const held = won.length > 0 ? (await db.query(texts().pauses.list)).rows : []
      const paused = new Set(held.map((row) => row.job as string))
      const waits = rows.filter((row) => row.won !== true && row.missing !== true).map((row) => Number(row.wait_ms))
      return {
        turns: won.map((row) => turnOf(row, paused.has(row.job as string))),
        nextMs: Math.max(0, Math.min(...waits, Number.POSITIVE_INFINITY)),
        pausesOver: rows.filter((row) => row.pause_over === true).map((row) => row.job as string),
        missing: rows.filter((row) => row.missing === true).map((row) => row.job as string),
      }
    },
    async advance(holder, turn, cursor, pushed = 0) {
      const { rows } = await db.query(texts().sweeps.advance, [turn.job, holder, turn.term, cursor, turnMs, pushed])
      return rows.length === 1
    },
    async end(holder, ends) {
      const { rows } = await db.query(texts().sweeps.finish, [holder, JSON.stringify(ends.map(endRow))])
      return rows.map((row) => ({
        epoch: Number(row.epoch),
        pushed: Number(row.pushed),
        tookMs: Number(row.took_ms),
      }))
    },
    async makeDue(jobs, { anew = false, ramped = false } = {}) {
      await db.query(texts().sweeps.makeDue, [JSON.stringify(jobs), anew, ramped])
    },
    async noProgress(job, count) {
      await db.query(texts().sweeps.noProgress, [job, count])
    },
  }
}

function endRow({ turn, end: { nextMs, tookMs, oldestMs, broughtBack, unusable, everyMs, ...end } }: EndedTurn) {
  return {
    ...end,
    job: turn.job,
    term: turn.term,
    unusable: unusable?.count ?? 0,
    unusable_key: unusable?.key ?? null,
    next_ms: nextMs,
    took_ms: Math.round(tookMs),
    oldest_ms: oldestMs ?? null,
    brought_back: broughtBack === true,
    finished: end.finished === true,
    every_ms: everyMs === undefined ? null : Math.round(everyMs),
  }
}

function turnOf(row: Row, paused: boolean): Turn {
  return {
    job: row.job as string,
    term: Number(row.term),
    cursor: row.cursor as string | null,
    auditedMs: row.audited_ms === null ? null : Number(row.audited_ms),
    paused,
    rampedMs: row.ramped_ms === null ? null : Number(row.ramped_ms),
    full: row.full_before === true,
    errors: Number(row.errors),
    atMs: Number(row.at_ms),
    sample: row.sample === null ? {} : (JSON.parse(row.sample as string) as Sample),
  }
}
