// Upper arrow, step settle: runs that are over in; what was recorded of them out. It is the fence: only where holder
// and take match is anything written (S3), else the result is discarded.
import type { Random } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import { decide, type Settlement } from '../job/outcome.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Ended } from './batch.ts'
import type { Claims } from './claims.ts'

/** `held` false: lease lost, nothing was recorded. */
export interface Settled extends Settlement {
  readonly key: string
  readonly held: boolean
}

export async function settle(
  ledger: Ledger,
  claims: Claims,
  random: Random,
  job: Job,
  batch: readonly Ended[],
): Promise<Settled[]> {
  const decided = batch.map(({ entry: { hint, take, failures }, outcome, settled }) => ({
    settled,
    row: { job: job.name, key: hint.key, take, ...decide(failures, outcome, job.retry, random) },
  }))
  const open = decided.filter(({ settled }) => !settled).map(({ row }) => row)
  const held = open.length === 0 ? new Set() : await ledger.settle(claims.holder, open)
  return decided.map(({ settled, row }) => ({ ...row, held: settled || held.has(row.take) }))
}
