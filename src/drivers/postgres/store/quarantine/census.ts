// What is in quarantine, counted in SQL. It reads all of it: for a person, with a time limit.
import type { Census } from '../../../../store/census.ts'
import type { SqlDatabase } from '../../../../store/sql-client.ts'
import type { Statements } from '../statements-by-schema.ts'
import { date } from '../status/status.ts'
import { whereParams } from './quarantine-where.ts'

const timeoutMs = 15_000

export function sqlCensus(db: SqlDatabase, texts: () => Statements): Census {
  return {
    async count(job, where) {
      const { rows } = await db.queryWithin(timeoutMs, texts().quarantine.count, whereParams(job, where))
      return rows.map((row) => ({ job: row.job as string, count: Number(row.count) }))
    },
    async errors(job, where, limit) {
      const { rows } = await db.queryWithin(timeoutMs, texts().quarantine.countErrors, [
        ...whereParams(job, where),
        limit,
      ])
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
