// A source of the user's own ({ page, isPending }): its answers are joined with the ledger here instead of in SQL.
import { durationMaxMs } from '../../../../base/duration.ts'
import { messageOf } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import { isKeyLength } from '../../../../job/key.ts'
import type { CustomPending, PendingRow } from '../../../../job/pending.ts'
import type { Ledger } from '../../../../store/ledger.ts'
import type { PageRow, PendingKey, Source } from '../../../../store/source.ts'
import type { SqlDatabase } from '../../../sql/client.ts'
import { unusableRows } from './page-encoding.ts'

/** A date that is none means now: a wait that is no number would stop the queue. */
const waitOf = (runAt: Date, nowMs: number) => Math.min(Math.max(0, runAt.getTime() - nowMs) || 0, durationMaxMs)

/** A version that the ledger can hold: without NUL and halves of surrogate pairs, which Postgres refuses. */
const storableVersion = (version: unknown) => versionText(version).replaceAll('\0', '').toWellFormed()

/** A date's own text is in the time zone of its process, where another process would see another version. */
const versionText = (version: unknown) =>
  version instanceof Date && !Number.isNaN(version.getTime()) ? version.toISOString() : String(version)

export function customSource(db: SqlDatabase, ledger: Ledger, job: Job, custom: CustomPending<never>): Source {
  let versioned = false
  /** A row with its canonical key; the wait is counted on the store's clock. */
  const canonical = ({ key, version, runAt }: PendingRow, nowMs: number): PendingKey => {
    versioned ||= version != null
    return {
      key: job.key.textOf(key),
      version: version == null ? null : storableVersion(version),
      waitMs: runAt ? waitOf(runAt, nowMs) : 0,
      input: null,
    }
  }
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
      const found = (await custom.page(cursor, limit)) as readonly PendingRow[]
      const rows = found.map((row) => readable(() => canonical(row, nowMs)))
      const usable = rows.filter((row): row is PendingKey => 'key' in row && isKeyLength(row.key))
      const known = new Map(
        (
          await ledger.standing(
            job.name,
            usable.map(({ key }) => key),
          )
        ).map((row) => [row.key, row]),
      )
      const eligible: PageRow[] = []
      const before: number[] = []
      for (const row of rows)
        if (!('key' in row) || !isKeyLength(row.key)) before.push(eligible.length)
        else {
          const { key, version, waitMs } = row
          const held = known.get(key)
          const renewed = !!held && !held.live && held.version !== null && version !== null && held.version !== version
          const wait = Math.max(waitMs, held && !renewed ? held.waitMs : 0)
          const blocked = held && !renewed && (held.live || held.quarantined)
          if (!blocked && wait <= horizonMs) eligible.push({ key, version, waitMs: wait, renewed })
        }
      return {
        scanned: rows.length,
        last: lastKey(rows, limit),
        oldestMs: null,
        rows: eligible,
        ...(before.length > 0 && { unusable: unusableRows(shownKey(rows), before) }),
      }
    },
    async check(keys) {
      const { nowMs, paused } = await now()
      const rows = (await custom.isPending(keys.map(job.key.decode) as never[])) as readonly PendingRow[]
      return { paused, pending: new Map(rows.map((row) => canonical(row, nowMs)).map((row) => [row.key, row])) }
    },
    estimate: async () => null,
  }
}

/** A row, or why it is none: its key is not of the job's type. */
type Read = PendingKey | { readonly error: unknown }

function readable(read: () => PendingKey): Read {
  try {
    return read()
  } catch (error) {
    return { error }
  }
}

/** The last row that a cursor can stand on. A full page without any would be read again and again: that is an error. */
function lastKey(rows: readonly Read[], limit: number): string | null {
  const last = rows.findLast((row) => 'key' in row)
  if (last && 'key' in last) return last.key
  const [first] = rows
  if (first && 'error' in first && rows.length >= limit) throw first.error
  return null
}

/** One of the rows that cannot be keys, or what is wrong with it. */
function shownKey(rows: readonly Read[]): string {
  const one = rows.find((row) => !('key' in row) || !isKeyLength(row.key)) as Read
  return 'key' in one ? one.key : (messageOf(one.error).split('\n', 1)[0] as string)
}
