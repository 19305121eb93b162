// How far pops have come in each lane. The next one begins there: while a long transaction is open, what was popped stays in
// the table and in its indexes, and who began at the beginning would step over all of it.
import type { Clock } from '../../../../base/clock.ts'
import type { PoppedHint } from '../../../../queue/hint.ts'
import type { PopRequest } from '../../../../queue/queue.ts'

/**
 * How often a lane is looked at from its beginning: a push that committed late stands behind where pops have been. Such looks take a
 * two-thousandth of the time, so that among many pops they are rare. Whoever committed late waits ten seconds at most; where a look is
 * so slow that this would be more than a two-hundredth of the time, half a minute.
 */
const wholeEveryMs = (tookMs: number) =>
  Math.max(2_000, Math.min(10_000, tookMs * 2_000), Math.min(30_000, tookMs * 200))

interface Lane {
  /** Due time that a pop has come to, as the server wrote it. */
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

/** What a pop came to. */
export interface Found {
  readonly hints: readonly PoppedHint[]
  /** Those that it looked in. */
  readonly lanes: 'fresh' | 'all'
  /** From when on to look where nothing was left, as the server wrote it: whatever commits soon after is seen at once. */
  readonly at: string
  /** Of each lane that it found something in: the due time of the last one. */
  readonly reached: readonly (readonly [job: string, fresh: boolean, at: string])[]
  readonly tookMs: number
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

  note({ jobs, limit }: PopRequest, { hints, lanes, at, reached, tookMs }: Found): void {
    const until = this.#clock.now() + wholeEveryMs(tookMs)
    for (const [job, fresh, last] of reached) this.#set(job, fresh, last, until)
    if (hints.length >= limit) return
    const counts = new Map<string, number>()
    for (const { job } of hints) counts.set(job, (counts.get(job) ?? 0) + 1)
    // There was room for more: nothing due is left in these lanes.
    for (const { job, limit: most } of jobs)
      if ((counts.get(job) ?? 0) < most)
        for (const fresh of lanes === 'all' ? [true, false] : [true]) this.#set(job, fresh, at, until)
  }

  /** The queue is another one. */
  forget(): void {
    this.#lanes.clear()
  }

  /** Not put off: the look from the beginning comes, however many pops there are. */
  #set(job: string, fresh: boolean, at: string, until: number): void {
    const name = `${fresh} ${job}`
    this.#lanes.set(name, { at, until: this.#lanes.get(name)?.until ?? until })
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
