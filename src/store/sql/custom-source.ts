// A source of the user's own ({ page, isPending }): its answers are joined with the ledger here instead of in SQL.
import { durationMaxMs } from '../../base/duration.ts'
import type { Job } from '../../job/job.ts'
import type { CustomPending, PendingRow } from '../../job/pending.ts'
import type { SqlDatabase } from '../executor.ts'
import type { Ledger } from '../ledger.ts'
import type { PageRow, PendingKey, Source } from '../source.ts'

/** A date that is none means now: a wait that is no number would stop the queue. */
const waitOf = (runAt: Date, nowMs: number) => Math.min(Math.max(0, runAt.getTime() - nowMs) || 0, durationMaxMs)

/** A version that the ledger can hold: without NUL and halves of surrogate pairs, which Postgres refuses. */
const storableVersion = (version: string) => String(version).replaceAll('\0', '').toWellFormed()

export function customSource(db: SqlDatabase, ledger: Ledger, job: Job, custom: CustomPending<never>): Source {
  let versioned = false
  /** Rows with canonical keys; the wait is counted on the store's clock. */
  const canonical = (rows: readonly PendingRow[], nowMs: number): PendingKey[] =>
    rows.map(({ key, version, runAt }) => {
      versioned ||= version != null
      return {
        key: job.key.encode(key),
        version: version == null ? null : storableVersion(version),
        waitMs: runAt ? waitOf(runAt, nowMs) : 0,
        input: null,
      }
    })
  const now = async () => {
    const { rows } = await db.query(
      `select extract(epoch from regrow.clock())::float8 * 1000 as now_ms, exists (select 1 from regrow.pauses
       where job = $1::text and (until is null or until > (select regrow.clock()))) as paused`,
      [job.name],
    )
    return { nowMs: Number(rows[0]?.now_ms), paused: rows[0]?.paused === true }
  }
  return {
    get versioned() {
      return versioned
    },
    dated: false,
    finishes: null,
    async page(after, limit, horizonMs) {
      const { nowMs } = await now()
      const cursor = after === null ? null : (job.key.decode(after) as never)
      const rows = canonical((await custom.page(cursor, limit)) as readonly PendingRow[], nowMs)
      const known = new Map(
        (
          await ledger.standing(
            job.name,
            rows.map(({ key }) => key),
          )
        ).map((row) => [row.key, row]),
      )
      const eligible = rows.flatMap(({ key, version, waitMs }): PageRow[] => {
        const held = known.get(key)
        const renewed = !!held && !held.live && held.version !== null && version !== null && held.version !== version
        const wait = Math.max(waitMs, held && !renewed ? held.waitMs : 0)
        const blocked = held && !renewed && (held.live || held.quarantined)
        return blocked || wait > horizonMs ? [] : [{ key, version, waitMs: wait, renewed }]
      })
      return { scanned: rows.length, last: rows.at(-1)?.key ?? null, oldestMs: null, rows: eligible }
    },
    async check(keys) {
      const { nowMs, paused } = await now()
      const rows = await custom.isPending(keys.map(job.key.decode) as never[])
      const pending = canonical(rows as readonly PendingRow[], nowMs)
      return { paused, pending: new Map(pending.map((row) => [row.key, row])) }
    },
    estimate: async () => null,
  }
}
