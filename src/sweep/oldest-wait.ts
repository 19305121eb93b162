// How long has the oldest pending row waited? Rows with `run_at` and intents say so. Of others a few keys are remembered
// with the job's sweep, and looked for again in the next one: the answer is "at least so long".
import type { Ledger } from '../store/ledger.ts'
import type { PageRow, Source } from '../store/source.ts'
import type { Sample } from '../store/sweeps.ts'

const sampleMax = 32

export interface Waited {
  readonly oldestMs: number | null
  readonly sample: Sample
}

/** `rows` were due in this turn; `sample` is what earlier turns remember; `nowMs` the store's time. */
export async function waited(
  { ledger, source }: { ledger: Ledger; source: Source },
  job: string,
  rows: readonly PageRow[],
  sample: Sample,
  nowMs: number,
): Promise<Waited> {
  const known = Object.entries(sample)
  const still = await stillWaiting(ledger, source, job, Object.keys(sample))
  const kept = known.filter(([key]) => still.has(key))
  const have = new Set(kept.map(([key]) => key))
  const fresh = spreadOver(
    rows.filter(({ key, waitMs }) => waitMs <= 0 && !have.has(key)),
    sampleMax - kept.length,
  ).map(({ key }): [string, number] => [key, nowMs])
  const all = [...kept, ...fresh]
  const oldest = Math.min(...all.map(([, since]) => since))
  return { oldestMs: all.length === 0 ? null : Math.max(0, nowMs - oldest), sample: Object.fromEntries(all) }
}

/** Pending, due, and not for a person to decide. */
async function stillWaiting(
  ledger: Ledger,
  source: Source,
  job: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const { pending } = await source.check(keys)
  const barred = new Set(
    (await ledger.standing(job, [...pending.keys()])).flatMap(({ key, quarantined }) => (quarantined ? [key] : [])),
  )
  return new Set(
    [...pending.values()].filter(({ key, waitMs }) => waitMs <= 0 && !barred.has(key)).map(({ key }) => key),
  )
}

/** `most` of them, from all over. */
function spreadOver<T>(list: readonly T[], most: number): readonly T[] {
  const step = Math.max(1, Math.ceil(list.length / Math.max(1, most)))
  return most <= 0 ? [] : list.filter((_, i) => i % step === 0)
}
