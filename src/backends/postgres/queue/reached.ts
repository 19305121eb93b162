// How far pops have come in each lane. The next one begins there: while a long transaction is open, what was popped stays in
// the table and in its indexes, and who began at the beginning would step over all of it.
import type { Clock } from '../../../base/clock.ts'
import type { PopRequest } from '../../../queue/queue.ts'

/** So often a lane is looked at from its beginning: a push that committed late stands behind where pops have been. */
const wholeEveryMs = 2_000

interface Lane {
  /** Due time of the last hint, as the server wrote it. */
  readonly at: string
  readonly until: number
}

/** What a pop asks for of one job; null: from the beginning. */
export interface Wanted {
  readonly job: string
  readonly most: number
  readonly fresh: string | null
  readonly swept: string | null
}

export class Reached {
  readonly #clock: Clock
  readonly #lanes = new Map<string, Lane>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  from(jobs: PopRequest['jobs']): Wanted[] {
    return jobs.map(({ job, limit: most }) => ({ job, most, fresh: this.#at(job, true), swept: this.#at(job, false) }))
  }

  note(reached: readonly [job: string, fresh: boolean, at: string][]): void {
    for (const [job, fresh, at] of reached) {
      const name = `${fresh} ${job}`
      // Not put off: the look from the beginning comes, however many pops there are.
      this.#lanes.set(name, { at, until: this.#lanes.get(name)?.until ?? this.#clock.now() + wholeEveryMs })
    }
  }

  /** The queue is another one. */
  forget(): void {
    this.#lanes.clear()
  }

  #at(job: string, fresh: boolean): string | null {
    const name = `${fresh} ${job}`
    const lane = this.#lanes.get(name)
    if (!lane) return null
    if (lane.until > this.#clock.now()) return lane.at
    this.#lanes.delete(name)
    return null
  }
}
