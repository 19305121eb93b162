// Hints on their way into the table. Small pushes of concurrent callers travel together, and each learns what became of its
// own. Due hints of one job go the quick way while their lane is known to have room; all others are counted by the statement.
import { Batcher } from '../../../../base/batcher.ts'
import type { Clock } from '../../../../base/clock.ts'
import { Optimism } from '../../../../base/optimism.ts'
import { limited } from '../../../../base/semaphore.ts'
import { type Hint, type Pushed, pushed, type QueueBounds } from '../../../../queue/hint.ts'
import type { PushOptions } from '../../../../queue/queue.ts'
import { isInTransaction } from '../../../../store/held-transaction.ts'
import type { SqlExecutor } from '../../../sql/client.ts'
import { inOrder } from '../../store/claims/lock-order.ts'
import { sqlState } from '../../store/errors.ts'
import { orderedTexts, textArray } from '../../store/list-encoding.ts'
import { payloadOf } from '../notifier.ts'
import { statements } from '../statements.gen.ts'

type Outcome = 'added' | 'merged' | 'dropped' | 'lost'
type KeyOf = Pick<Hint, 'job' | 'key'>

/** A push of more has a statement of its own. */
const togetherMax = 100
const pageSize = 1_000
/** Such statements at a time: all write to the end of the same two indexes, and a third one only stands in their way. */
const abreast = 2
/**
 * S11: so long a count of a lane is good for, and so much of its bound has to be left: what others push meanwhile, and what
 * comes due, is not in it. Nearer to its bound a lane is counted by each push.
 */
const known = { ms: 1_000, spare: 1_000 }
/** Hints of a lane that were counted, and those that were pushed since: never fewer than there are, but for those of others. */
interface Room {
  taken: number
  readonly until: number
}

export class Pushes {
  readonly #db: SqlExecutor
  readonly #clock: Clock
  readonly #bounds: QueueBounds
  readonly #together: Batcher<Hint, Outcome>
  /** What is enqueued is mostly not there yet. */
  readonly #optimism = new Optimism()
  readonly #inTurn = limited(abreast)
  /** By job and lane. */
  readonly #rooms = new Map<string, Room>()
  /** Hints that pages on their way may add. */
  readonly #away = new Map<string, number>()

  constructor(db: SqlExecutor, clock: Clock, bounds: QueueBounds) {
    this.#db = db
    this.#clock = clock
    this.#bounds = bounds
    this.#together = new Batcher(clock, pageSize, (hints) => this.#batch(hints))
  }

  async push(hints: readonly Hint[], options: PushOptions = {}): Promise<Pushed> {
    const plain = (options.share ?? 1) === 1 && options.epoch == null
    // Who holds the only connection cannot wait for others that need it.
    const gathers = plain && hints.length <= togetherMax && !isInTransaction()
    const alone = () => this.#inTurn(() => this.#send(hints, options))
    if (!gathers) return summed(await alone())
    // M36: what breaks the hints of several callers is one caller's affair; each sends its own.
    const outcomes = this.#together.add(hints).catch((error: unknown) => {
      if (isHintsFault(error)) return alone()
      throw error
    })
    return summed(await outcomes)
  }

  /** S11: hints that the swept lane of a job may still take; up to `wanted` are kept for this one until `done` tells how many it took. */
  async reserve(job: string, wanted: number): Promise<{ room: number; done(added: number): void }> {
    const name = laneOf(job, false)
    const { taken } = await this.#counted(job, false)
    const away = this.#away.get(name) ?? 0
    const room = Math.max(0, this.#bounds.maxHints - taken - away)
    const reserved = Math.min(wanted, room)
    // At once, as below; and beside the count: a new one does not see what is on its way.
    this.#away.set(name, away + reserved)
    return {
      room,
      done: (added) => {
        this.#away.set(name, (this.#away.get(name) ?? 0) - reserved)
        const counted = this.#rooms.get(name)
        if (counted) counted.taken += added
      },
    }
  }

  /** The count of a lane may be anything now. */
  forget(): void {
    this.#rooms.clear()
  }

  /** A key that several callers push is one hint: the second is merged into the first. */
  async #batch(hints: readonly Hint[]): Promise<Outcome[]> {
    const byKey = new Map<string, { hint: Hint; at: number }>()
    const first = hints.map((hint, at) => {
      const name = nameOf(hint)
      const there = byKey.get(name)
      if (!there) byKey.set(name, { hint, at })
      else if (hint.fresh)
        there.hint = { ...there.hint, fresh: true, delayMs: Math.min(there.hint.delayMs, hint.delayMs) }
      return there?.at ?? at
    })
    const asked = [...byKey.values()]
    const outcomes = await this.#send(
      asked.map(({ hint }) => hint),
      {},
    )
    const of = new Map(asked.map(({ at }, i) => [at, outcomes[i] as Outcome]))
    return first.map((at, i) => {
      const outcome = of.get(at) as Outcome
      return at === i || outcome !== 'added' ? outcome : 'merged'
    })
  }

  async #send(hints: readonly Hint[], options: PushOptions): Promise<Outcome[]> {
    const [one] = hints
    const alike =
      one && hints.every(({ job, fresh, delayMs }) => job === one.job && fresh === one.fresh && delayMs <= 0)
    if (alike && (await this.#hasRoom(one, hints.length, options.share ?? 1))) return this.#quick(hints, one, options)
    return this.#exact(hints, options)
  }

  /** S11: true while fewer hints were counted in a lane, and pushed since, than it may hold, with some to spare. */
  async #hasRoom({ job, fresh }: Hint, wanted: number, share: number): Promise<boolean> {
    if (wanted + known.spare > this.#bounds.maxHints * share) return false
    const name = laneOf(job, fresh)
    const away = this.#away.get(name) ?? 0
    const before = this.#rooms.get(name)
    // One that was half empty is not full a moment later: who pushes a few does not wait for the count, but the next one has it.
    const idle =
      wanted <= togetherMax && before !== undefined && before.taken + away < (this.#bounds.maxHints * share) / 2
    const counting = this.#counted(job, fresh)
    if (idle) counting.catch(() => {})
    const room = idle ? before : await counting
    if (room.taken + away + wanted + known.spare > this.#bounds.maxHints * share) return false
    // At once: who pushes beside this one has no right to the same room.
    room.taken += wanted
    return true
  }

  async #counted(job: string, fresh: boolean): Promise<Room> {
    const name = laneOf(job, fresh)
    const found = this.#rooms.get(name)
    if (found && found.until >= this.#clock.now()) return found
    const until = this.#clock.now() + known.ms
    const { rows } = await this.#db.query(statements.push.room, [job, fresh, this.#bounds.maxHints])
    const room = { taken: Number(rows[0]?.count), until }
    this.#rooms.set(name, room)
    return room
  }

  async #quick(hints: readonly Hint[], { job, fresh }: Hint, options: PushOptions): Promise<Outcome[]> {
    const keys = hints.map(({ key }) => key)
    const ordered = fresh && this.#optimism.expectsNew(job) ? orderedTexts(inOrder(keys)) : null
    if (ordered !== null) {
      const params = [job, ordered, payloadOf(job, keys)]
      if (await this.#db.query(statements.push.pushNew, params).catch(unlessThere)) return hints.map(() => 'added')
      this.#optimism.wasWrong(job)
    } else if (fresh) this.#optimism.hasLooked(job)
    const params = [job, textArray(keys), fresh, epochOf(options)]
    const answer = await this.#db.query(statements.push.pushLane, params).catch(unlessThere)
    if (!answer) return this.#exact(hints, options)
    const { meant, there } = answer.rows[0] as { meant: boolean; there: string | null }
    if (!meant) return hints.map(() => 'lost')
    if (there === null) return hints.map(() => 'added')
    const movable = new Map(JSON.parse(there) as [string, boolean][])
    const moving = fresh ? hints.filter(({ key }) => movable.get(key)) : []
    const moved = moving.length > 0 ? await this.#exact(moving, options) : []
    const outcomes = new Map(moving.map(({ key }, i) => [key, moved[i]]))
    return hints.map(({ key }) => (movable.has(key) ? (outcomes.get(key) ?? 'merged') : 'added'))
  }

  async #exact(hints: readonly Hint[], options: PushOptions): Promise<Outcome[]> {
    const list = hints.map(({ job, key, delayMs, fresh }) => ({ job, key, fresh, delay_ms: delayMs }))
    const { maxHints, maxDelayed } = this.#bounds
    const [due, delayed] = [maxHints, maxDelayed].map((most) => Math.ceil(most * (options.share ?? 1)))
    const params = [JSON.stringify(list), due as number, delayed as number, epochOf(options)]
    const { rows } = await this.#db.query(statements.push.push, params)
    const outcomes = new Map<string, Outcome>()
    for (const outcome of ['merged', 'dropped', 'lost'] as const)
      for (const [job, key] of JSON.parse((rows[0]?.[outcome] as string | null) ?? '[]') as [string, string][])
        outcomes.set(nameOf({ job, key }), outcome)
    return hints.map((hint) => outcomes.get(nameOf(hint)) ?? 'added')
  }
}

/** What a hint is breaks the statement: a text that cannot be stored, or is too long for the index. Others would get in. */
export const isHintsFault = (error: unknown): boolean => /^(22|23(?!505)|54)/.test(sqlState(error) ?? '')

/** Somebody has pushed one of these keys, or does at this moment. */
const unlessThere = (error: unknown): undefined => {
  if (sqlState(error) !== '23505') throw error
}

const nameOf = ({ job, key }: KeyOf) => `${job.length} ${job} ${key}`

const laneOf = (job: string, fresh: boolean) => `${fresh} ${job}`

const epochOf = ({ epoch = null }: PushOptions) => (epoch === null ? null : String(epoch))

function summed(outcomes: readonly Outcome[]): Pushed {
  const count = { added: 0, merged: 0, dropped: 0, lost: 0 }
  for (const outcome of outcomes) count[outcome]++
  return pushed(count)
}
