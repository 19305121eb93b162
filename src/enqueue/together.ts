// Single inputs of callers that come at the same time travel together: while statements that record intents are away, what
// comes up gathers for the next one. In: one row of one caller. Out: that caller's own report, after the commit.
import { bisect } from '../base/bisect.ts'
import type { Clock } from '../base/clock.ts'
import type { EnqueueReport } from '../job/declaration.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import { sqlState } from '../store/executor.ts'
import type { IntentAnswer, IntentRow, Intents } from '../store/intents.ts'
import { idInUse, rowsThatFit } from './record.ts'

/** Records one intent and hints it; `jitterMs` is added to the time that the row says. */
export type RecordTogether = (job: string, row: IntentRow, jitterMs: number) => Promise<EnqueueReport>

interface Ports {
  readonly clock: Pick<Clock, 'gather'>
  readonly push: Push
  readonly intents: Pick<Intents, 'record'>
}

/** One caller. */
interface Caller {
  readonly row: IntentRow
  readonly jitterMs: number
  readonly resolve: (report: EnqueueReport) => void
  readonly reject: (error: unknown) => void
}

/** Statements of a job on their way at a time: while one waits for the disk, the other one is written. */
const awayMax = 2
/**
 * So many callers share a statement before they are parted: a statement and its hints cost as much by themselves as fifty rows,
 * and a hundred callers in two halves had no more answers in a second, for half as much again of both processes' time.
 */
const partFrom = 100

/** For callers that are in no transaction: a statement is sent in the name of all who wait. */
export function enqueuingTogether(ports: Ports): RecordTogether {
  const lines = new Map<string, Line>()
  return (job, row, jitterMs) =>
    new Promise((resolve, reject) => {
      const line = lines.get(job) ?? new Line(ports, job)
      lines.set(job, line)
      line.add({ row, jitterMs, resolve, reject })
    })
}

/** The callers of one job. */
class Line {
  readonly #ports: Ports
  readonly #job: string
  #waiting: Caller[] = []
  #away = 0
  #gathering = false

  constructor(ports: Ports, job: string) {
    this.#ports = ports
    this.#job = job
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
    try {
      const { broken } = await bisect(batch, (part) => this.#record(part, untold), isRowsFault)
      for (const [caller, error] of broken) caller.reject(error)
    } catch (error) {
      for (const { reject } of untold) reject(error)
    } finally {
      this.#away--
      if (this.#waiting.length > 0 && !this.#gathering) void this.#leave()
    }
  }

  async #record(part: readonly Caller[], untold: Set<Caller>): Promise<void> {
    const rows = part.map(({ row }) => row)
    const answers = await this.#ports.intents.record(this.#job, rows)
    // Committed: whatever becomes of the others of the batch, these are told so.
    for (const caller of part) untold.delete(caller)
    void this.#hint(part, answers)
  }

  /** Nobody waits for the hints but those whose they are: the next statement is away meanwhile. */
  async #hint(part: readonly Caller[], answers: readonly IntentAnswer[]): Promise<void> {
    const open: [Caller, IntentAnswer, Hint][] = []
    for (const [i, caller] of part.entries()) {
      const answer = answers[i] as IntentAnswer
      const delayMs = answer.waitMs + caller.jitterMs
      if (answer.usedBy !== null) caller.reject(idInUse(this.#job, answer.id, answer.usedBy))
      else if (answer.paused) caller.resolve(report(answer, 'held'))
      else open.push([caller, answer, { job: this.#job, key: answer.heldBy, delayMs, fresh: true }])
    }
    try {
      const all = await this.#ports.push(open.map(([, , hint]) => hint))
      const told = ([caller, answer]: (typeof open)[number], dropped: boolean) =>
        // Work that was there before is merged into it, also when its hint was popped already.
        caller.resolve(report(answer, dropped ? 'dropped' : answer.added ? 'added' : 'merged'))
      if (all.dropped === 0 || all.dropped === open.length) for (const each of open) told(each, all.dropped > 0)
      // The queue tells sums only. Whose hint it has not, a second push tells; the others it leaves as they are.
      else await Promise.all(open.map(async (each) => told(each, (await this.#ports.push([each[2]])).dropped > 0)))
    } catch (error) {
      for (const [{ reject }] of open) reject(error)
    }
  }
}

/** What two rows of one statement must not share. An id that was made for its row is nobody else's. */
const namesOf = ({ id, idIsNew, uniqueKey }: IntentRow): string[] => [
  ...(idIsNew ? [] : [`id ${id}`]),
  ...(uniqueKey === null ? [] : [`unique ${uniqueKey}`]),
]

const report = (answer: IntentAnswer, word: 'added' | 'merged' | 'dropped' | 'held'): EnqueueReport => ({
  added: word === 'added' ? 1 : 0,
  merged: word === 'merged' ? 1 : 0,
  dropped: word === 'dropped' ? 1 : 0,
  held: word === 'held' ? 1 : 0,
  keys: [answer.heldBy],
})

/**
 * M36: data that the store cannot hold, a constraint or trigger that refuses it, a limit of the server or of its time; and a
 * deadlock that came again and again: a row alone has none.
 */
const isRowsFault = (error: unknown) => /^(22|23|40|54|P0)|^57014$/.test(sqlState(error) ?? '')
