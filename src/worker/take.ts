// Upper arrow, step take: popped hints of one job in; claims and refusals out. One statement, no user SQL.
import type { Job } from '../job/job.ts'
import type { PoppedHint } from '../queue/hint.ts'
import type { Ledger, TakeOptions } from '../store/ledger.ts'
import type { Refused, Taken } from './batch.ts'
import type { Claims } from './claims.ts'

export async function take(
  ledger: Ledger,
  claims: Claims,
  job: Job,
  hints: readonly PoppedHint[],
  options: TakeOptions = {},
): Promise<{ taken: Taken[]; refused: Refused[] }> {
  const numbered = hints.map((hint) => ({ hint, take: claims.next() }))
  const byKey = new Map(numbered.map((each) => [each.hint.key, each]))
  try {
    const answers = await ledger.take(
      claims.holder,
      numbered.map(({ hint, take }) => ({ job: job.name, key: hint.key, take })),
      options,
    )
    const taken: Taken[] = []
    const refused: Refused[] = []
    for (const { key, verdict, waitMs, failures, crashes, version, together } of answers) {
      const { hint, take } = byKey.get(key) as (typeof numbered)[number]
      if (verdict === 'taken')
        taken.push({ job, key, fresh: hint.fresh, take, failures, crashes, together, ledgerVersion: version })
      else {
        claims.forget(take)
        refused.push({ hint, why: verdict, waitMs, ledgerVersion: version })
      }
    }
    return { taken, refused }
  } catch (error) {
    // The statement may have committed. Neither known nor awaited any more, the next beat gives the keys back.
    for (const { take } of numbered) claims.forget(take)
    throw error
  }
}
