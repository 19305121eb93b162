// Claims that are not run after all: nothing is counted (S5), and somebody else may start them at once.
import type { Push } from '../queue/push.ts'
import type { Ledger } from '../store/ledger.ts'
import type { Claims } from './held-claims.ts'
import type { Taken } from './stages.ts'

export interface GiveBackPorts {
  readonly ledger: Ledger
  readonly claims: Claims
  readonly push: Push
}

/** Ends claims without a hint: who calls knows what becomes of the key. */
export async function release({ ledger, claims }: GiveBackPorts, entries: readonly Taken[]): Promise<void> {
  if (entries.length === 0) return
  try {
    await ledger.release(
      claims.holder,
      entries.map(({ job, key, take }) => ({ job: job.name, key, take })),
    )
  } finally {
    // Whatever became of the release: the beat gives back what is no longer known.
    for (const { take } of entries) claims.forget(take)
  }
}

/** Ends claims and hints their keys again. */
export async function giveBack(ports: GiveBackPorts, entries: readonly Taken[], delayMs = 0): Promise<void> {
  if (entries.length === 0) return
  await release(ports, entries)
  await ports.push(entries.map(({ job, key, fresh }) => ({ job: job.name, key, fresh, delayMs })))
}
