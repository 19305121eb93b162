// The queue of the simulator: the rules of the Queue port on one list, in virtual time, with nothing clever and no chance.
// In: the calls of the port, and what can happen to a queue server. Out: answers at once; who waits is woken by `onPush`.
import { type Mark, readMark } from '../../../src/job/canary-mark.ts'
import { defaultBounds, type Hint, type Pushed, type QueueBounds } from '../../../src/queue/hint.ts'
import type { HintCount, Popped, PopRequest, PushOptions } from '../../../src/queue/queue.ts'

/** A hint as the queue keeps it. */
export interface SimHint {
  readonly job: string
  readonly key: string
  /** On the clock of the queue, in ms. */
  readonly dueAt: number
  readonly fresh: boolean
}

/** An old copy of the queue's data. */
export interface Snapshot {
  readonly hints: readonly SimHint[]
  readonly mark: Mark | null
}

/** The part of every pop that belongs to the swept lane. */
const otherLanePart = 10

export class SimQueue {
  readonly #now: () => number
  readonly #bounds: QueueBounds
  /** By job and key, in the order in which they came: that is the order among hints that fall due at the same time. */
  #hints = new Map<string, SimHint>()
  #mark: Mark | null = null
  /** Keys whose last hint found no room. */
  readonly #dropped = new Set<string>()
  /** What pops so far asked for and the swept lane has not got its tenth of. It is the poppers', so no loss resets it. */
  #unshared = 0

  /** Called when hints came in, so that a waiting pop looks again. */
  onPush: () => void = () => {}

  /** `now` in ms; bounds that are left out are the defaults. */
  constructor(now: () => number, bounds: Partial<QueueBounds> = {}) {
    this.#now = now
    this.#bounds = { ...defaultBounds, ...bounds }
  }

  /** Adds hints one after another, each (job, key) at most once per call. */
  push(hints: readonly Hint[], { share = 1, epoch = null }: PushOptions = {}): Pushed {
    const count = { added: 0, merged: 0, dropped: 0, lost: 0 }
    for (const hint of hints) {
      const meant = hint.fresh || epoch === null || this.#mark?.epoch === epoch
      count[meant ? this.#pushOne(hint, share) : 'lost']++
    }
    this.onPush()
    const { lost, ...rest } = count
    return lost === 0 ? rest : count
  }

  /** Never waits: `waitMs` is the caller's affair. */
  pop({ jobs, limit }: PopRequest): Popped {
    const room = new Map(jobs.map((each) => [each.job, each.limit]))
    const popped: SimHint[] = []
    const take = (fresh: boolean, most: number) => {
      for (const { job } of jobs)
        for (const hint of this.#due(job, fresh)) {
          const left = room.get(job) ?? 0
          if (left <= 0 || most <= 0) break
          most--
          room.set(job, left - 1)
          this.#hints.delete(identity(hint))
          popped.push(hint)
        }
    }
    take(false, this.#otherLane(limit))
    take(true, limit - popped.length)
    take(false, limit - popped.length)
    popped.sort((a, b) => Number(b.fresh) - Number(a.fresh))
    return { hints: popped.map(({ job, key, fresh }) => ({ job, key, fresh })), mark: this.#mark }
  }

  /** Puts a mark there, whatever was there before. One that no server could give back as it is reads as none. */
  setMark({ epoch, sequence }: Mark): void {
    this.#mark = readMark(String(epoch), String(sequence))
  }

  /** M41: what is not there is not made. M11: what is behind or foreign is a sign, and stays one. */
  advanceMark(known: Mark): Mark | null {
    const found = this.#mark
    if (found?.epoch === known.epoch && found.sequence >= known.sequence)
      this.setMark({ epoch: found.epoch, sequence: Math.max(found.sequence, known.sequence + 1) })
    return found
  }

  /** Hints of these jobs, by job. */
  count(jobs: readonly string[]): ReadonlyMap<string, HintCount> {
    const now = this.#now()
    return new Map(
      jobs.map((job) => {
        const mine = this.all().filter((hint) => hint.job === job)
        const due = mine.filter((hint) => hint.dueAt <= now).length
        return [job, { due, delayed: mine.length - due }]
      }),
    )
  }

  /** Throws everything away, the mark included; returns how many hints there were. */
  wipe(): number {
    const lost = this.#hints.size
    this.#hints = new Map()
    this.#mark = null
    return lost
  }

  /** When the next delayed hint of these jobs falls due; Infinity: none. */
  nextDue(jobs: readonly string[]): number {
    const now = this.#now()
    const delayed = this.all().filter(({ job, dueAt }) => jobs.includes(job) && dueAt > now)
    return Math.min(Infinity, ...delayed.map(({ dueAt }) => dueAt))
  }

  /** A copy of the data as it is now, for `restore`. */
  snapshot(): Snapshot {
    return { hints: this.all(), mark: this.#mark }
  }

  /** An old copy comes back: hints and mark are as they were then. */
  restore({ hints, mark }: Snapshot): void {
    this.#hints = new Map(hints.map((hint) => [identity(hint), hint]))
    this.#mark = mark
    this.onPush()
  }

  /** Some hints are gone, the mark stays; returns how many. */
  lose(which: (hint: { job: string; key: string }) => boolean): number {
    const gone = this.all().filter(which)
    for (const hint of gone) this.#hints.delete(identity(hint))
    return gone.length
  }

  /** Hints that nobody of ours pushed: they are there, whatever the bounds say, and in place of any of the same key. */
  inject(hints: readonly Hint[]): void {
    for (const { job, key, delayMs, fresh } of hints) this.#put({ job, key, dueAt: this.#dueAt(delayMs), fresh })
    this.onPush()
  }

  /** True when the last hint that was pushed for this key found no room, for the checks. */
  wasDropped(job: string, key: string): boolean {
    return this.#dropped.has(identity({ job, key }))
  }

  /** Every hint there is, for the checks. */
  all(): readonly SimHint[] {
    return [...this.#hints.values()]
  }

  #pushOne({ job, key, delayMs, fresh }: Hint, share: number): 'added' | 'merged' | 'dropped' {
    const dueAt = this.#dueAt(delayMs)
    const there = this.#hints.get(identity({ job, key }))
    if (there) {
      // S12: one hint per key. Bounds are of what is added: one that is there takes no more room when it is made sooner.
      if (fresh && (!there.fresh || dueAt < there.dueAt))
        this.#put({ job, key, dueAt: Math.min(dueAt, there.dueAt), fresh })
      return 'merged'
    }
    // S11
    const [filled, bound] =
      delayMs > 0
        ? [this.#delayed(job), this.#bounds.maxDelayed]
        : [this.#due(job, fresh).length, this.#bounds.maxHints]
    if (filled >= bound * share) {
      this.#dropped.add(identity({ job, key }))
      return 'dropped'
    }
    this.#put({ job, key, dueAt, fresh })
    return 'added'
  }

  #put(hint: SimHint): void {
    this.#dropped.delete(identity(hint))
    this.#hints.delete(identity(hint))
    this.#hints.set(identity(hint), hint)
  }

  #dueAt(delayMs: number): number {
    return this.#now() + Math.max(0, delayMs)
  }

  /** Due hints of a lane, the one that fell due first first. */
  #due(job: string, fresh: boolean): SimHint[] {
    const now = this.#now()
    const due = this.all().filter((hint) => hint.job === job && hint.fresh === fresh && hint.dueAt <= now)
    return due.sort((a, b) => a.dueAt - b.dueAt)
  }

  #delayed(job: string): number {
    return this.count([job]).get(job)?.delayed ?? 0
  }

  /** How many of this pop's `limit` the swept lane has first: a tenth, the rest of the division is kept for the next pop. */
  #otherLane(limit: number): number {
    this.#unshared += limit
    const share = Math.min(limit, Math.floor(this.#unshared / otherLanePart))
    this.#unshared -= share * otherLanePart
    return share
  }
}

const identity = ({ job, key }: { job: string; key: string }) => JSON.stringify([job, key])
