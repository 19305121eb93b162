// The quarantine in SQL. What reads all of it has a time limit: a person waits, the database must not.
import type { DropVerdict, QuarantinedKey, StoreQuarantine } from '../../../../store/quarantine.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import type { Statements } from '../statements-by-schema.ts'
import { date, dateOrNull } from '../status/rows.ts'
import { whereParams } from './quarantine-where.ts'

const timeoutMs = 15_000

export function sqlQuarantine(db: SqlDatabase, texts: () => Statements): StoreQuarantine {
  return {
    async list(job, after, limit, where) {
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

const distinct = (keys: readonly string[]) => JSON.stringify([...new Set(keys)])

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
