// After a success a statement of its own asks which keys are still pending: a handler that changes nothing would
// otherwise run for ever. In: successes of one job. Out: what is new work, and what made no progress.
import type { Random } from '../base/random.ts'
import type { Job } from '../job/job.ts'
import { decide } from '../job/outcome.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Source } from '../store/source.ts'
import type { Ready } from './batch.ts'

export interface Progress {
  /** Another version came up while it ran: to be hinted at once. */
  readonly renewed: string[]
  /** Still pending in the same version, recorded as a failure. */
  readonly stalled: { key: string; retryMs: number; quarantined: boolean }[]
  /** Still pending, and without a version nobody can tell whether it is new work: the sweep will find it. */
  readonly unclear: string[]
}

export async function progress(
  ledger: Ledger,
  source: Source,
  random: Random,
  job: Job,
  successes: readonly Ready[],
): Promise<Progress> {
  const { pending } = await source.check(successes.map(({ key }) => key))
  const still = successes.flatMap((entry) => {
    const row = pending.get(entry.key)
    return row && row.waitMs <= 0 ? [{ entry, version: row.version }] : []
  })
  const same = still.filter(({ entry, version }) => version !== null && version === entry.version)
  const rows = same.map(({ entry, version }) => {
    const error = new Error(
      `It ran and returned, but the row is still pending in version ${version}: the pending query of "${job.name}" still finds it`,
    )
    error.stack = error.message
    return { job: job.name, key: entry.key, version, ...decide(entry, { kind: 'failure', error }, job.retry, random) }
  }) as Parameters<Ledger['stall']>[0]
  const written = new Set(rows.length > 0 ? await ledger.stall(rows) : [])
  return {
    renewed: still
      .filter(({ entry, version }) => version !== null && version !== entry.version)
      .map(({ entry }) => entry.key),
    stalled: rows
      .filter(({ key }) => written.has(key))
      .map(({ key, retryMs, state }) => ({ key, retryMs, quarantined: state === 'quarantined' })),
    unclear: still.filter(({ version }) => version === null).map(({ entry }) => entry.key),
  }
}
