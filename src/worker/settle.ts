// Upper arrow, step settle: runs that are over in; what was recorded of them out. It is the fence: only where holder and
// take match is anything written (S3), else the result is discarded.
import type { Job } from '../job/job.ts'
import { decide, done, type Outcome, refused, type Settlement } from '../job/outcome.ts'
import type { Finish, Ledger, SettleRow } from '../store/ledger.ts'
import type { Source } from '../store/source.ts'
import type { Claims } from './held-claims.ts'
import type { Ended, Ready, Settled } from './stages.ts'

export async function settle(
  ledger: Ledger,
  claims: Claims,
  source: (job: Job) => Source,
  batch: readonly Ended[],
): Promise<Settled[]> {
  const settlements = batch.map(settlementOf)
  const finishes = new Map<Job, Finish | null>()
  const rows: SettleRow[] = []
  batch.forEach(({ entry, settled }, i) => {
    if (settled) return
    const { job } = entry
    if (!finishes.has(job)) finishes.set(job, source(job).finishes)
    rows.push(row(entry, settlements[i] as Settlement, finishes.get(job) ?? null))
  })
  const held = rows.length === 0 ? new Set<number>() : await ledger.settle(claims.holder, rows)
  return batch.map((ended, i) => ({
    ended,
    settlement: settlements[i] as Settlement,
    held: ended.settled || held.has(ended.entry.take),
  }))
}

/** A success is decided without chance, and without what would be made to ask for it. M44: each by itself, before anything is sent. */
function settlementOf({ entry, outcome, chance }: Ended): Settlement {
  if (outcome.kind === 'success') return done
  const decided = (outcome: Outcome) => decide(entry, outcome, entry.job.retry, { float: () => chance })
  try {
    return decided(outcome)
  } catch (cause) {
    return decided(refused(cause))
  }
}

function row({ job, key, take, version }: Ready, settlement: Settlement, finishes: Finish | null): SettleRow {
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
