// What processes tell of the outcomes of their runs, compared with what the store told them: who lost the claim says so (S3).
import type { EventMap } from '../../src/job/event-map.ts'
import type { SettleRow } from '../../src/store/ledger.ts'
import type { Oracle } from './oracle.ts'
import type { SimProcess } from './sim-process.ts'

export class Outcomes {
  readonly #oracle: Oracle
  /** By process, keys whose outcome the store has just discarded. */
  readonly #discarded = new Map<SimProcess, Set<string>>()

  constructor(oracle: Oracle) {
    this.#oracle = oracle
  }

  heard(process: SimProcess, name: string, args: readonly unknown[], answer: unknown): void {
    if (name !== 'ledger.settle') return
    const [, rows] = args as [string, readonly SettleRow[]]
    const held = answer as ReadonlySet<number>
    const discarded = this.#discarded.get(process) ?? new Set()
    this.#discarded.set(process, discarded)
    for (const { job, key, take, noProgress } of rows)
      if (held.has(take)) discarded.delete(`${job} ${key}`)
      // Of a lack of progress that is not recorded nothing is told.
      else if (!noProgress) discarded.add(`${job} ${key}`)
  }

  told(process: SimProcess, event: keyof EventMap, detail: unknown): void {
    if (event !== 'job.settled' && event !== 'job.lease_lost') return
    const { job, key } = detail as EventMap['job.settled']
    const lost = this.#discarded.get(process)?.delete(`${job} ${key}`) === true
    if (lost)
      this.#oracle.check(
        'S3',
        event === 'job.lease_lost',
        () => `${process.name} tells of ${key} of ${job} as settled, and the store has discarded it`,
      )
  }
}
