// Upper arrow, step settle: runs that are over in; what was recorded of them out. It is the fence: only where holder and
// take match is anything written (S3), else the result is discarded.
import { decide, type Settlement } from '../job/outcome.ts'
import type { Finish, Ledger, SettleRow } from '../store/ledger.ts'
import type { Ended, Settled } from './batch.ts'
import type { Claims } from './claims.ts'

export async function settle(
  ledger: Ledger,
  claims: Claims,
  batch: readonly { ended: Ended; finishes: Finish | null }[],
): Promise<Settled[]> {
  const decided = batch.map(({ ended, finishes }) => ({
    ended,
    finishes,
    settlement: decide(ended.entry, ended.outcome, ended.entry.job.retry, { float: () => ended.chance }),
  }))
  const open = decided.filter(({ ended }) => !ended.settled)
  const held = open.length === 0 ? new Set<number>() : await ledger.settle(claims.holder, open.map(row))
  return decided.map(({ ended, settlement }) => ({
    ended,
    settlement,
    held: ended.settled || held.has(ended.entry.take),
  }))
}

function row({
  ended,
  settlement,
  finishes,
}: {
  ended: Ended
  settlement: Settlement
  finishes: Finish | null
}): SettleRow {
  const { job, key, take, version } = ended.entry
  const kept = settlement.state === 'done' ? nothing : settlement
  return {
    job: job.name,
    key,
    take,
    state: settlement.state,
    version,
    failures: kept.failures,
    crashes: kept.crashes,
    retryMs: kept.retryMs,
    error: kept.error,
    together: kept.together,
    finish: settlement.state === 'done' ? finishes : null,
  }
}

/** What is left of a success. */
const nothing = { failures: 0, crashes: 0, retryMs: 0, error: null, together: null }
