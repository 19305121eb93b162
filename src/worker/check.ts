// Upper arrow, step check: claims in; what may start, and why the rest may not, out.
// S2: its statement begins after the take returned: in one snapshot with it, work that just finished would be granted.
import type { Checked, Source } from '../store/source.ts'
import type { CheckedBatch, Ready, Refused, Taken } from './stages.ts'

/** `known`: what was found already, right behind the take. */
export async function check(
  source: Source,
  taken: readonly Taken[],
  refused: readonly Refused[],
  known: Checked | null = null,
): Promise<CheckedBatch> {
  const remembered = refused.filter(
    ({ why, ledgerVersion }) =>
      ledgerVersion !== null && (why === 'later' || why === 'quarantined' || why === 'suspect'),
  )
  const batch: CheckedBatch = { ready: [], stopped: [], renewed: [], broken: [] }
  if (taken.length + remembered.length === 0) return batch
  const keys = () => [...taken.map(({ key }) => key), ...remembered.map(({ hint }) => hint.key)]
  const { paused, pending, broken } = known ?? (await source.check(keys()))
  for (const entry of taken) {
    const row = pending.get(entry.key)
    const error = broken?.get(entry.key)
    if (error !== undefined) batch.broken.push({ entry: ready(entry, null, null), error })
    // S8: no check begun after the pause committed starts a key.
    else if (paused) batch.stopped.push({ entry, why: 'paused', waitMs: 0 })
    else if (!row) batch.stopped.push({ entry, why: 'not pending', waitMs: 0 })
    else if (row.waitMs > 0) batch.stopped.push({ entry, why: 'later', waitMs: row.waitMs })
    else batch.ready.push(ready(entry, row.version, row.input, row.unique))
  }
  for (const { hint, ledgerVersion } of remembered) {
    const version = pending.get(hint.key)?.version ?? null
    if (version !== null && version !== ledgerVersion) batch.renewed.push({ key: hint.key, version })
  }
  return batch
}

/** Written out: a spread of so many objects of several shapes costs more than the check itself. */
const ready = (entry: Taken, version: string | null, input: string | null, unique = false): Ready => ({
  job: entry.job,
  key: entry.key,
  fresh: entry.fresh,
  take: entry.take,
  failures: entry.failures,
  crashes: entry.crashes,
  together: entry.together,
  ledgerVersion: entry.ledgerVersion,
  version,
  input,
  unique,
})
