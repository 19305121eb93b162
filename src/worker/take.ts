// Upper arrow, step take: popped hints of one job in; claims and refusals out. One statement, no user SQL.
import type { PoppedHint } from '../queue/hint.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Refused, Taken } from './batch.ts'
import type { Claims } from './claims.ts'

export async function take(
  ledger: Ledger,
  claims: Claims,
  hints: readonly PoppedHint[],
): Promise<{ taken: Taken[]; refused: Refused[] }> {
  const byKey = new Map(hints.map((hint) => [hint.key, { hint, take: claims.next() }]))
  const asked = [...byKey.values()].map(({ hint: { job, key }, take }) => ({ job, key, take }))
  const taken: Taken[] = []
  const refused: Refused[] = []
  try {
    for (const { key, verdict, waitMs, failures, crashes } of await ledger.take(claims.holder, asked)) {
      const { hint, take } = byKey.get(key) as { hint: PoppedHint; take: number }
      if (verdict === 'taken') taken.push({ hint, take, failures, crashes })
      else refused.push({ hint, why: verdict, waitMs })
    }
    return { taken, refused }
  } finally {
    // A statement that failed may have committed: neither known nor awaited, its keys are given back by the next beat.
    const ours = new Set(taken.map(({ take }) => take))
    for (const { take } of asked) if (!ours.has(take)) claims.forget(take)
  }
}
