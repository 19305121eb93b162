// What is in quarantine, counted in SQL. It reads all of it: for a person, with a time limit.
import type { Census } from '../census.ts'
import type { SqlDatabase } from '../executor.ts'
import { date } from './inspector.ts'
import { whereParams } from './quarantine-where.ts'
import type { Statements } from './schema.ts'

const timeoutMs = 15_000

export function sqlCensus(db: SqlDatabase, texts: () => Statements): Census {
  return {
    async count(job, where) {
      const { rows } = await db.queryWithin(timeoutMs, texts().countQuarantine, whereParams(job, where))
      return rows.map((row) => ({ job: row.job as string, count: Number(row.count) }))
    },
    async errors(job, where, limit) {
      const { rows } = await db.queryWithin(timeoutMs, texts().countErrors, [...whereParams(job, where), limit])
      return rows.map((row) => ({
        job: row.job as string,
        error: row.error as string,
        count: Number(row.count),
        firstAt: date(row.first_ms),
        lastAt: date(row.last_ms),
        key: row.key as string,
      }))
    },
  }
}
