// What is done to the workers: every few seconds one of kill -9, SIGSTOP until a random time later, and SIGTERM (or of those
// that a run asks for), on a random one of them. Seeded: the same seed chooses the same faults in the same order.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seeded } from '../../src/testing/seeded.ts'
import type { Crew } from '../processes/crew.ts'

export interface FaultCounts {
  kills: number
  stops: number
  terms: number
  /** Nobody was working when a fault was due. */
  missed: number
}

export interface FaultOptions {
  readonly everyMs: number
  readonly leaseMs: number
  readonly counts: FaultCounts
  readonly signal: AbortSignal
  /** Defaults to all three. */
  readonly kinds?: readonly ('kill' | 'stop' | 'term')[]
}

export const noFaults = (): FaultCounts => ({ kills: 0, stops: 0, terms: 0, missed: 0 })

/** Goes on until `signal` aborts; counts what it did in `counts`. */
export async function faults(
  crew: Crew,
  random: Seeded,
  { everyMs, leaseMs, counts, signal, kinds = ['kill', 'stop', 'term'] }: FaultOptions,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const kind = random.pick(kinds)
    const forMs = random.below(2 * leaseMs)
    const chance = random.below(1_000)
    const { working } = crew
    const member = working[chance % Math.max(1, working.length)]
    if (!member) counts.missed++
    else if (kind === 'kill') {
      counts.kills++
      crew.kill(member)
    } else if (kind === 'stop') {
      counts.stops++
      crew.stop(member, forMs)
    } else {
      counts.terms++
      crew.term(member)
    }
  }
}
