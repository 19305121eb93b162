// Lower arrow, slowly: forgets what the ledger remembers of keys that are long not pending. Careful, because a broken
// query looks like rows that are gone: only keys that wait, unchanged for a day, not pending in two audits, and never more
// than half of a job's rows at once. Quarantine stays until a person acts.
import type { Clock } from '../base/clock.ts'
import type { Job } from '../job/job.ts'
import type { AuditRow, Audits, AuditVerdicts } from '../store/ledger-audit.ts'
import type { Source } from '../store/source.ts'

const hourMs = 3_600_000
/** How often a job is audited. */
export const auditEveryMs = 6 * hourMs
/** A row that changed since is left alone. */
const unchangedMs = 24 * hourMs
/** Two audits that both find a key not pending are so far apart at least. */
const apartMs = hourMs
const pageRows = 1_000
const budgetMs = 10_000

export interface AuditPorts {
  readonly clock: Clock
  readonly audits: Audits
  readonly source: Source
}

export interface AuditReport {
  readonly forgotten: number
  /** Not pending either, but left for the next audit: more than half of the job's rows would have gone at once. */
  readonly kept: number
}

export async function audit(ports: AuditPorts, job: Job, signal: AbortSignal): Promise<AuditReport> {
  const { clock, audits, source } = ports
  const until = clock.now() + budgetMs
  const report = { forgotten: 0, kept: 0 }
  let after: string | null = null
  for (;;) {
    const rows: AuditRow[] = await audits.page(job.name, after, pageRows)
    const old = rows.filter(isOld)
    if (old.length > 0) {
      const { pending, broken } = await source.check(old.map(({ key }) => key))
      const { kept, ...verdicts } = decideAudit(rows, (key) => pending.has(key) || broken?.has(key) === true)
      report.forgotten += await audits.write(job.name, verdicts)
      report.kept += kept
    }
    after = rows.at(-1)?.key ?? null
    if (rows.length < pageRows || signal.aborted || clock.now() >= until) return report
  }
}

const isOld = ({ waiting, idleMs }: AuditRow) => waiting && idleMs >= unchangedMs

/** What becomes of a page of a job's rows. */
export function decideAudit(
  rows: readonly AuditRow[],
  isPending: (key: string) => boolean,
): AuditVerdicts & { kept: number } {
  const old = rows.filter(isOld)
  const absent = old.filter(({ key }) => !isPending(key))
  const keysOf = (list: readonly AuditRow[]) => list.map(({ key }) => key)
  const gone = keysOf(absent.filter(({ unseenMs }) => unseenMs !== null && unseenMs >= apartMs))
  const most = Math.floor(rows.length / 2)
  return {
    forget: gone.slice(0, most),
    // Noted by a clock that is set back since: noted again (L10).
    unseen: keysOf(absent.filter(({ unseenMs }) => unseenMs === null || unseenMs < 0)),
    seen: keysOf(old.filter(({ key, unseenMs }) => unseenMs !== null && isPending(key))),
    kept: Math.max(0, gone.length - most),
  }
}
