// Hints in this process's memory: the default beside PGlite, and what stands in when a real queue is down.
// Per job two lanes (fresh, swept), each with its due hints in order and a heap of delayed ones.
import type { Clock } from '../base/clock.ts'
import { Heap } from '../base/heap.ts'
import { difference, type Mark } from '../job/canary-mark.ts'
import { BlockingPop } from './blocking-pop.ts'
import { defaultBounds, type Hint, OtherLane, type PoppedHint, pushed, type QueueBounds } from './hint.ts'
import type { PeekedHint, Popped, PopRequest, PushOptions, Queue, QueueInspection } from './queue.ts'
import { Waiters } from './waiters.ts'

interface Entry {
  readonly key: string
  readonly dueAt: number
  readonly order: number
  readonly lane: Lane
}

interface Lane {
  readonly fresh: boolean
  readonly due: Heap<Entry>
  readonly delayed: Heap<Entry>
  /** Entries that are really there; heaps may still hold entries that a sooner one replaced. */
  dueCount: number
}

interface JobHints {
  readonly byKey: Map<string, Entry>
  readonly fresh: Lane
  readonly swept: Lane
}

const sooner = (a: Entry, b: Entry) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order)
const lane = (fresh: boolean): Lane => ({ fresh, due: new Heap(sooner), delayed: new Heap(sooner), dueCount: 0 })

export class MemoryQueue implements Queue {
  readonly name = 'memory'
  readonly shared = false
  readonly #clock: Clock
  readonly #bounds: QueueBounds
  readonly #jobs = new Map<string, JobHints>()
  readonly #waiters: Waiters
  readonly #blockingPop: BlockingPop
  readonly #otherLane = new OtherLane()
  #order = 0
  #mark: Mark | null = null

  constructor(clock: Clock, bounds: Partial<QueueBounds> = {}) {
    this.#clock = clock
    this.#bounds = { ...defaultBounds, ...bounds }
    this.#waiters = new Waiters(clock)
    const look = async (request: PopRequest) => this.#look(request)
    // Nothing is ever missed: all pushes are of this process.
    const pollMs = () => Number.POSITIVE_INFINITY
    this.#blockingPop = new BlockingPop({ clock, waiters: this.#waiters, look, pollMs })
  }

  async push(hints: readonly Hint[], { share = 1, epoch = null }: PushOptions = {}) {
    const now = this.#clock.now()
    const count = { added: 0, merged: 0, dropped: 0, lost: 0 }
    const another = epoch !== null && this.#mark?.epoch !== epoch
    for (const hint of hints) count[another && !hint.fresh ? 'lost' : this.#put(hint, now, share)]++
    this.#waiters.wake(new Set(hints.map(({ job }) => job)))
    return pushed(count)
  }

  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    return this.#blockingPop.pop(request, signal)
  }

  async setMark(mark: Mark) {
    this.#mark = mark
  }

  async advanceMark(known: Mark) {
    const found = this.#mark
    if (found !== null && difference(known, found) === null)
      this.#mark = { epoch: found.epoch, sequence: Math.max(found.sequence, known.sequence + 1) }
    return found
  }

  async count(jobs: readonly string[]) {
    const now = this.#clock.now()
    return new Map(
      jobs.map((job) => {
        const hints = this.#settled(job, now)
        const due = hints ? hints.fresh.dueCount + hints.swept.dueCount : 0
        return [job, { due, delayed: (hints?.byKey.size ?? 0) - due }]
      }),
    )
  }

  readonly inspection: QueueInspection = {
    peek: async (job, keys) => this.#peek(job, keys),
    facts: async () => ({}),
  }

  #peek(job: string, keys: readonly string[]) {
    const now = this.#clock.now()
    const byKey = this.#settled(job, now)?.byKey
    return new Map(
      keys.flatMap((key): [string, PeekedHint][] => {
        const entry = byKey?.get(key)
        return entry ? [[key, { dueInMs: Math.max(0, entry.dueAt - now), fresh: entry.lane.fresh }]] : []
      }),
    )
  }

  async forget(job: string) {
    const count = this.#jobs.get(job)?.byKey.size ?? 0
    this.#jobs.delete(job)
    return count
  }

  async wipe() {
    const lost = [...this.#jobs.values()].reduce((sum, { byKey }) => sum + byKey.size, 0)
    this.#jobs.clear()
    this.#mark = null
    return lost
  }

  async close() {
    this.#waiters.close()
  }

  #put({ job, key, delayMs, fresh }: Hint, now: number, share: number): 'added' | 'merged' | 'dropped' {
    const hints = this.#settled(job, now) ?? { byKey: new Map(), fresh: lane(true), swept: lane(false) }
    this.#jobs.set(job, hints)
    const dueAt = now + Math.max(0, delayMs)
    const existing = hints.byKey.get(key)
    if (existing && (!fresh || (existing.lane.fresh && existing.dueAt <= dueAt))) return 'merged'
    const target = fresh ? hints.fresh : hints.swept
    const delayed = hints.byKey.size - hints.fresh.dueCount - hints.swept.dueCount
    const { maxHints, maxDelayed } = this.#bounds
    const full = delayMs > 0 ? delayed >= share * maxDelayed : target.dueCount >= share * maxHints
    // S11 is of what is added: a hint that is there takes no more memory when it is made sooner.
    if (full && !existing) return 'dropped'
    if (existing && existing.dueAt <= now) existing.lane.dueCount--
    const entry: Entry = {
      key,
      dueAt: existing ? Math.min(dueAt, existing.dueAt) : dueAt,
      order: this.#order++,
      lane: target,
    }
    hints.byKey.set(key, entry)
    if (entry.dueAt <= now) {
      target.due.push(entry)
      target.dueCount++
    } else target.delayed.push(entry)
    return existing ? 'merged' : 'added'
  }

  /** The hints of a job after moving what has come due; entries that were replaced fall away here. */
  #settled(job: string, now: number): JobHints | undefined {
    const hints = this.#jobs.get(job)
    if (!hints) return undefined
    for (const each of [hints.fresh, hints.swept])
      for (
        let next = each.delayed.peek();
        next && (next.dueAt <= now || hints.byKey.get(next.key) !== next);
        next = each.delayed.peek()
      ) {
        each.delayed.pop()
        if (hints.byKey.get(next.key) !== next) continue
        each.due.push(next)
        each.dueCount++
      }
    return hints
  }

  #look(request: PopRequest) {
    const now = this.#clock.now()
    const hints = this.#popDue(request, now)
    const nextMs = Math.min(...request.jobs.map(({ job }) => this.#nextDue(job))) - now
    return { hints, mark: this.#mark, nextMs }
  }

  #popDue({ jobs, limit }: PopRequest, now: number): PoppedHint[] {
    const popped: PoppedHint[] = []
    const rooms = jobs.map(({ job, limit: most }) => ({ job, hints: this.#settled(job, now), room: most }))
    const take = (fresh: boolean, most: number) => {
      for (const each of rooms) {
        const from = each.hints?.[fresh ? 'fresh' : 'swept']
        for (let n = Math.min(most, each.room); n > 0 && from; n--) {
          const entry = this.#popEntry(each.hints as JobHints, from)
          if (!entry) break
          popped.push({ job: each.job, key: entry.key, fresh })
          each.room--
          most--
        }
      }
    }
    take(false, this.#otherLane.share(limit))
    take(true, limit - popped.length)
    take(false, limit - popped.length)
    return popped
  }

  #popEntry(hints: JobHints, from: Lane): Entry | undefined {
    for (let entry = from.due.pop(); entry; entry = from.due.pop()) {
      if (hints.byKey.get(entry.key) !== entry) continue
      hints.byKey.delete(entry.key)
      from.dueCount--
      return entry
    }
    return undefined
  }

  #nextDue(job: string): number {
    const hints = this.#jobs.get(job)
    return Math.min(hints?.fresh.delayed.peek()?.dueAt ?? Infinity, hints?.swept.delayed.peek()?.dueAt ?? Infinity)
  }
}
