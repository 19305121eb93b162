// What the ledger says of a pending row that a sweep has found, where no statement joins the two.
import type { LedgerEntry } from './ledger.ts'
import type { PageRow, PendingKey } from './source.ts'

/** The row as it may be hinted; null: it is held, or cannot start within `horizonMs`. */
export function eligible(row: PendingKey, held: LedgerEntry | undefined, horizonMs: number): PageRow | null {
  const { key, version, waitMs } = row
  const renewed = !!held && !held.live && held.version !== null && version !== null && held.version !== version
  const wait = Math.max(waitMs, held && !renewed ? held.waitMs : 0)
  const blocked = held && !renewed && (held.live || held.quarantined)
  return blocked || wait > horizonMs ? null : { key, version, waitMs: wait, renewed }
}
