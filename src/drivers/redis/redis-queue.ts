// Hints in Redis: the lightest view there is. Per job two lanes, each a list for order and a set for membership, and a
// sorted set of delayed hints; all work on them is done by a few scripts, several hundred hints in one round trip.
import type { Clock } from '../../base/clock.ts'
import type { Mark } from '../../job/canary-mark.ts'
import { BlockingPop, type Look } from '../../queue/blocking-pop.ts'
import { defaultBounds, type Hint, OtherLane, type Pushed, pushed, type QueueBounds } from '../../queue/hint.ts'
import type {
  PeekedHint,
  PopJob,
  Popped,
  PopRequest,
  PushOptions,
  Queue,
  QueueInspection,
  QueueRepair,
} from '../../queue/queue.ts'
import type { Dial } from './client-adapters.ts'
import { allotted, markOf, markText, type Page, type Part, pagesOf, readPop, worst } from './codec.ts'
import { Line } from './connection.ts'
import { explained } from './errors.ts'
import { Places, type Slot } from './keys.ts'
import { Notifier } from './notifier.ts'
import { run, type ScriptName, type Scripts, scriptsWith } from './script.ts'
import { examined } from './server-info.ts'

/** The longest sleep of a pop that waits. It bounds the delay when a wake-up is lost. */
const floorMs = 1_000
/** F24: a server that answers nothing for so long is given up; a long script or a fork may take a second. */
const patienceMs = 3_000
const closeMs = 1_000

export interface RedisQueueOptions extends Partial<QueueBounds> {
  readonly dial: Dial
  readonly clock: Clock
  readonly namespace: string
  readonly shards: number
  /** The store that the hints are of. */
  readonly owner: string
  /** Called with keys that held a value of another type, and were deleted. */
  readonly onRepair?: ((repair: QueueRepair) => void) | undefined
  /** Lua that says what time it is: for tests in virtual time. Defaults to the server's clock. */
  readonly clockLua?: string
}

export class RedisQueue implements Queue {
  /** The store keeps a mark by this name: of two queues beside one store each has its own. */
  readonly name: string
  readonly shared = true
  readonly #clock: Clock
  readonly #namespace: string
  readonly #owner: string
  readonly #bounds: QueueBounds
  readonly #places: Places
  readonly #scripts: Scripts
  readonly #line: Line
  readonly #onRepair: (repair: QueueRepair) => void
  readonly #notifier: Notifier
  readonly #blockingPop: BlockingPop
  readonly #otherLane = new OtherLane()

  constructor({ dial, clock, namespace, shards, owner, clockLua, onRepair, maxHints, maxDelayed }: RedisQueueOptions) {
    this.name = nameOf(namespace, shards)
    this.#clock = clock
    this.#namespace = namespace
    this.#owner = owner
    this.#onRepair = onRepair ?? (() => {})
    this.#bounds = { maxHints: maxHints ?? defaultBounds.maxHints, maxDelayed: maxDelayed ?? defaultBounds.maxDelayed }
    this.#places = new Places(namespace, shards)
    this.#scripts = scriptsWith(clockLua)
    const onMisplaced = () => {
      this.#line.drop()
      this.#notifier.drop()
    }
    this.#line = new Line({ dial, clock, patienceMs, onMisplaced })
    this.#notifier = new Notifier({
      dial,
      clock,
      places: this.#places,
      onMisplaced,
      send: (key, args) => void this.#line.send(key, args).catch(() => {}),
      passOn: (job) => void this.#popFrom([{ job, limit: 0 }], 0, 0).catch(() => {}),
    })
    const { waiters } = this.#notifier
    const look = (request: PopRequest) => this.#look(request)
    this.#blockingPop = new BlockingPop({ clock, waiters, look, pollMs: () => floorMs })
  }

  async push(hints: readonly Hint[], { share = 1, epoch = null }: PushOptions = {}): Promise<Pushed> {
    if (hints.length === 0) return { added: 0, merged: 0, dropped: 0 }
    const pages = pagesOf(hints)
    if (this.#handsOver(pages)) return { added: hints.length, merged: 0, dropped: 0 }
    const most = (bound: number) => String(Math.ceil(bound * share))
    const [due, delayed] = [most(this.#bounds.maxHints), most(this.#bounds.maxDelayed)]
    const calls = pages.map(({ job, fresh, keys, delays }) => {
      const { slot, keys: places } = this.#places.of(job)
      const args = [this.#owner, job, fresh ? 'fresh' : 'swept', delays ? delayed : due]
      args.push(epoch === null ? '' : String(epoch), ...keys)
      if (delays) args.push(...delays)
      return this.#run(delays ? 'pushDelayed' : 'push', [slot.owner, slot.mark, slot.jobs, ...places], args)
    })
    // Pops that wait here need not hear of it from the server: their look goes the same way, behind the push.
    this.#notifier.waiters.wake(pages.map(({ job }) => job))
    const answers = (await Promise.all(calls)) as [number, number, number, number, ...string[]][]
    this.#repaired(answers.flatMap((answer) => answer.slice(4) as string[]))
    const sum = (at: 0 | 1 | 2 | 3) => answers.reduce((all, answer) => all + answer[at], 0)
    return pushed({ added: sum(0), merged: sum(1), dropped: sum(2), lost: sum(3) })
  }

  pop(request: PopRequest, signal?: AbortSignal): Promise<Popped> {
    return this.#blockingPop.pop(request, signal)
  }

  async setMark(mark: Mark): Promise<void> {
    await this.#everywhere((slot) => this.#run('setMark', [slot.owner, slot.mark], [this.#owner, ...markText(mark)]))
  }

  async advanceMark(known: Mark): Promise<Mark | null> {
    const args = [this.#owner, ...markText(known)]
    const found = await this.#everywhere((slot) => this.#run('advanceMark', [slot.owner, slot.mark], args))
    return worst(found.map(markOf))
  }

  async count(jobs: readonly string[]) {
    const counted = await this.#lanes(jobs)
    return new Map(
      jobs.map((job) => {
        const [fresh, swept, delayed] = counted.get(job) as number[] as [number, number, number]
        return [job, { due: fresh + swept, delayed }]
      }),
    )
  }

  readonly inspection: QueueInspection = {
    peek: (job, keys) => this.#peek(job, keys),
    facts: () => examined(this.#places.slots, (slot, args) => this.#line.send(slot.mark, args)),
  }

  async #peek(job: string, keys: readonly string[]) {
    const { slot, keys: places } = this.#places.of(job)
    const answer = (await this.#run('peek', [slot.owner, ...places], [this.#owner, ...keys])) as number[]
    return new Map(
      keys.flatMap((key, i): [string, PeekedHint][] => {
        const lane = answer[2 * i] as number
        return lane === 0 ? [] : [[key, { dueInMs: answer[2 * i + 1] as number, fresh: lane === 1 }]]
      }),
    )
  }

  async forget(job: string): Promise<number> {
    const { slot, keys } = this.#places.of(job)
    return Number(await this.#run('forget', [slot.owner, slot.jobs, ...keys], [this.#owner, job]))
  }

  async wipe(): Promise<number> {
    const lost = await this.#everywhere(async (slot) => {
      const names = (await this.#line.send(slot.jobs, ['SMEMBERS', slot.jobs])) as string[]
      let sum = 0
      for (let at = 0; at === 0 || at < names.length; at += 100) {
        const some = names.slice(at, at + 100)
        const keys = [slot.owner, slot.mark, slot.jobs, ...some.flatMap((job) => this.#places.of(job).keys)]
        sum += Number(await this.#run('wipe', keys, [this.#owner, ...some]))
      }
      return sum
    })
    return lost.reduce((sum, each) => sum + each, 0)
  }

  async close(): Promise<void> {
    this.#notifier.close()
    // What is under way gets its answer, where the server gives one.
    const until = this.#clock.now() + closeMs
    while (this.#line.awaited > 0 && this.#clock.now() < until) await this.#clock.sleep(5)
    this.#line.close()
  }

  async #look(request: PopRequest): Promise<Look> {
    const { hints, mark, nextMs } = await this.#popDue(request)
    return { hints, mark, nextMs: nextMs < 0 ? Number.POSITIVE_INFINITY : nextMs }
  }

  async #popDue({ jobs, limit }: PopRequest): Promise<Part> {
    const share = this.#otherLane.share(limit)
    const slots = new Set(jobs.map(({ job }) => this.#places.of(job).slot))
    if (slots.size <= 1) return this.#popFrom(jobs, limit, share)
    // Spread over slots, nobody sees all lanes at once: first they are counted, then each slot is told what to give.
    const there = await this.#lanes(jobs.map(({ job }) => job))
    return this.#popFrom(allotted(jobs, limit, share, there), limit, share)
  }

  /**
   * A pop of this process that found nothing and has room for all of them gets fresh hints at once: they need not be in Redis for
   * that. One of the same key that is there comes out later, and its check finds what is true then.
   */
  #handsOver([page, ...others]: readonly Page[]): boolean {
    if (page === undefined || others.length > 0 || !page.fresh || page.delays) return false
    const { job, keys } = page
    for (const waiter of this.#notifier.waiters.of(job))
      if ((waiter.jobs.get(job) as PopJob).limit >= keys.length) {
        const hints = keys.map((key) => ({ job, key, fresh: true }))
        if (waiter.give({ hints, mark: undefined })) return true
      }
    return false
  }

  /** One call per slot, all of them at once: also those without jobs of this pop tell their mark. */
  async #popFrom(
    jobs: readonly { job: string; limit: number; fresh?: number; swept?: number }[],
    limit: number,
    share: number,
  ): Promise<Part> {
    const parts = await this.#everywhere(async (slot) => {
      const mine = this.#places.slots.length === 1 ? jobs : jobs.filter(({ job }) => this.#places.of(job).slot === slot)
      const keys = [slot.owner, slot.mark]
      const args = [this.#owner, String(limit), String(share)]
      for (const { job, limit: most, fresh = most, swept = most } of mine) {
        keys.push(...this.#places.of(job).keys)
        args.push(String(most), String(fresh), String(swept))
      }
      return readPop(await this.#run('pop', keys, args), mine)
    })
    this.#repaired(parts.flatMap(({ repaired }) => repaired))
    if (parts.length === 1) return parts[0] as Part
    const waits = parts.map(({ nextMs }) => nextMs).filter((ms) => ms >= 0)
    return {
      hints: parts.flatMap(({ hints }) => hints),
      mark: worst(parts.map(({ mark }) => mark)),
      nextMs: waits.length === 0 ? -1 : Math.min(...waits),
      repaired: [],
    }
  }

  #repaired(keys: readonly string[]): void {
    if (keys.length === 0) return
    const jobs = keys.map((key) => this.#places.jobOf(key)).filter((job) => job !== null)
    this.#onRepair({ keys, jobs: [...new Set(jobs)] })
  }

  /** Due fresh, due swept and delayed hints by job; asks every slot, so it also tells whether all of them answer. */
  async #lanes(jobs: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const counted = new Map<string, readonly number[]>()
    await this.#everywhere(async (slot) => {
      const mine = jobs.filter((job) => this.#places.of(job).slot === slot)
      const keys = [slot.owner, ...mine.flatMap((job) => this.#places.of(job).keys)]
      const answer = (await this.#run('count', keys, [this.#owner])) as number[]
      for (const [i, job] of mine.entries()) counted.set(job, answer.slice(3 * i, 3 * i + 3))
    })
    return counted
  }

  #everywhere<T>(ask: (slot: Slot) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#places.slots.map(ask))
  }

  #run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return run(this.#line, this.#scripts[name], keys, args).catch((error: unknown) => {
      throw explained(error, this.#namespace)
    })
  }
}

const nameOf = (namespace: string, shards: number) =>
  `redis${namespace === 'regrow' ? '' : `:${namespace}`}${shards === 1 ? '' : ` over ${shards}`}`
