// Single inputs of callers that come at the same time travel together: while statements that record intents are away, what
// comes up gathers for the next one. In: one row of one caller. Out: that caller's own report, after the commit.
import { bisect } from '../base/bisect.ts'
import type { Clock } from '../base/clock.ts'
import type { EnqueueReport } from '../job/declaration.ts'
import type { StoreErrorKind } from '../store/errors.ts'
import type { IntentRow } from '../store/intents.ts'
import { type Caller, namesOf, recordFor } from './caller.ts'
import { Held, type HeldPorts } from './held.ts'
import { rowsThatFit } from './intents.ts'

/** Records one intent and hints it; `jitterMs` is added to the time that the row says. */
export type RecordTogether = (job: string, row: IntentRow, jitterMs: number) => Promise<EnqueueReport>

interface Ports extends HeldPorts {
  readonly clock: HeldPorts['clock'] & Pick<Clock, 'gather'>
}

/** Statements of a job on their way at a time: while one waits for the disk, the other one is written. */
const awayMax = 2
/**
 * So many callers share a statement before they are parted: a statement and its hints cost as much by themselves as fifty rows,
 * and a hundred callers in two halves had no more answers in a second, for half as much again of both processes' time.
 */
const partFrom = 100

/**
 * For callers that are in no transaction: a statement is sent in the name of all who wait. Rows with a name (an id or a unique text) may
 * meet another transaction that holds it; rows without one never do, and share no statement with them.
 */
export function enqueuingTogether(ports: Ports): RecordTogether {
  const lines = { plain: new Map<string, Line>(), named: new Map<string, Line>() }
  const held = new Held(ports)
  return (job, row, jitterMs) =>
    new Promise((resolve, reject) => {
      const caller: Caller = { row, jitterMs, resolve, reject }
      const names = namesOf(row)
      if (names.length > 0 && held.has(job, names)) return held.add(job, caller)
      const kind = names.length > 0 ? 'named' : 'plain'
      const line = lines[kind].get(job) ?? new Line(ports, job, kind === 'named' ? held : null)
      lines[kind].set(job, line)
      line.add(caller)
    })
}

/** The callers of one job, with names or without. */
class Line {
  readonly #ports: Ports
  readonly #job: string
  /** Where those go whose name is held; null where they have none. */
  readonly #held: Held | null
  #waiting: Caller[] = []
  #away = 0
  #gathering = false

  constructor(ports: Ports, job: string, held: Held | null) {
    this.#ports = ports
    this.#job = job
    this.#held = held
  }

  add(caller: Caller): void {
    this.#waiting.push(caller)
    if (!this.#gathering && this.#away < awayMax) void this.#leave()
  }

  async #leave(): Promise<void> {
    this.#gathering = true
    await this.#ports.clock.gather()
    this.#gathering = false
    while (this.#waiting.length > 0 && this.#away < awayMax) void this.#travel(this.#next())
  }

  /**
   * An even share of those who wait, so that every statement that may be away has one. Rows of the same id or unique key never
   * share a statement: one after the other, each is told what came before it.
   */
  #next(): Caller[] {
    const share = Math.max(partFrom, Math.ceil(this.#waiting.length / (awayMax - this.#away)))
    const names = new Set<string>()
    const apart: Caller[] = []
    const batch: Caller[] = []
    const most = rowsThatFit(this.#waiting, 0, ({ row }) => row.input)
    for (const [i, caller] of this.#waiting.entries()) {
      const own = namesOf(caller.row)
      if (i >= most || batch.length >= share || own.some((name) => names.has(name))) apart.push(caller)
      else batch.push(caller)
      for (const name of own) names.add(name)
    }
    this.#waiting = apart
    return batch
  }

  async #travel(batch: readonly Caller[]): Promise<void> {
    this.#away++
    const untold = new Set(batch)
    const record = (part: readonly Caller[]) =>
      recordFor(this.#ports, this.#job, part, () => {
        // Committed: whatever becomes of the others of the batch, these are told so.
        for (const caller of part) untold.delete(caller)
      })
    const { classify } = this.#ports
    const isHeld = (error: unknown) => this.#held !== null && classify(error) === 'lock_timeout'
    try {
      const { broken } = await bisect(batch, record, (error) => isHeld(error) || isRowsFault(classify(error)))
      for (const [caller, error] of broken)
        if (isHeld(error)) this.#held?.add(this.#job, caller)
        else caller.reject(error)
    } catch (error) {
      for (const { reject } of untold) reject(error)
    } finally {
      this.#away--
      if (this.#waiting.length > 0 && !this.#gathering) void this.#leave()
    }
  }
}

/**
 * M36: data that the store cannot hold, a constraint or trigger that refuses it, a limit of the server or of its time; and a
 * deadlock that came again and again: a row alone has none.
 */
const isRowsFault = (kind: StoreErrorKind) => ['bad_row', 'conflict', 'timeout'].includes(kind)
