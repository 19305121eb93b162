// What a run counts: how often each fault fired, and how often each invariant was looked at where it could have failed.
// A fault that never fired, or an invariant that was never in danger, proves nothing: it fails the run.

/** Everything that can go wrong in a history. */
export const faultNames = [
  'process crashed',
  'process frozen',
  'process woke after its lease',
  'process with a skewed clock',
  'handler killed its process',
  'deploy: a process stopped and another job set started',
  'all slots busy',
  'request lost',
  'reply lost after the commit',
  'answer that never came',
  'answer delayed',
  'requests overtook each other',
  'request delivered twice',
  'store down',
  'store restarted',
  'asynchronous commits lost',
  'queue wiped',
  'queue partly deleted',
  'queue rolled back',
  'garbage in the queue',
  'foreign hints in the queue',
  'queue down',
  'queue out of memory',
  'queue too small',
  'push refused for one of its hints',
  'row whose key cannot be a key',
  'row whose run_at is infinity',
  'row whose run_at is -infinity',
  'pending query broken by a row',
  'table emptied',
  'tables restored',
  "store's clock set back",
  "store's clock jumped ahead",
  'mark of the queue forged',
  'job paused',
  'pause ran out',
  'enqueue never sent',
  'enqueue before the row was committed',
  'row committed late under a lower key',
  'row changed while its handler ran',
  'input merged by its unique text',
  'schedule edited by a deploy',
  'schedule paused',
  'schedule ended and resumed',
  'schedule run by hand',
  'slot skipped: missed',
  'slot skipped: overlap',
  'slot skipped: paused',
  'slot skipped: replaced',
] as const
export type FaultName = (typeof faultNames)[number]

/** The invariants that the oracle looks at; docs/invariants.md says what each means. */
export const invariantNames = [
  'S1',
  'S2',
  'S3',
  'S4',
  'S5',
  'S6',
  'S7',
  'S8',
  'S9',
  'S10',
  'S11',
  'S12',
  'S13',
  'S14',
  'S15',
  'S16',
  'S17',
  'L1',
  'L2',
  'L3',
  'L4',
  'L5',
  'L6',
  'L7',
  'L8',
  'L9',
  'L10',
] as const
export type InvariantName = (typeof invariantNames)[number]

export interface Counts {
  readonly faults: Partial<Record<FaultName, number>>
  readonly checks: Partial<Record<InvariantName, number>>
}

export class Tally implements Counts {
  readonly faults: Partial<Record<FaultName, number>> = {}
  readonly checks: Partial<Record<InvariantName, number>> = {}

  fault(name: FaultName, count = 1): void {
    this.faults[name] = (this.faults[name] ?? 0) + count
  }

  check(name: InvariantName): void {
    this.checks[name] = (this.checks[name] ?? 0) + 1
  }

  add({ faults, checks }: Counts): void {
    for (const name of faultNames) if (faults[name]) this.fault(name, faults[name])
    for (const name of invariantNames) if (checks[name]) this.checks[name] = (this.checks[name] ?? 0) + checks[name]
  }

  /** What never happened, though it could have. */
  missing(impossible: readonly FaultName[] = []): string[] {
    return [
      ...faultNames
        .filter((name) => !this.faults[name] && !impossible.includes(name))
        .map((name) => `fault never fired: ${name}`),
      ...invariantNames.filter((name) => !this.checks[name]).map((name) => `invariant never in danger: ${name}`),
    ]
  }
}
