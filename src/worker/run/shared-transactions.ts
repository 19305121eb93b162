// ctx.tx of a statement: effects that are values need nobody's attention between BEGIN and COMMIT, so those of runs that end in the
// same moment share a transaction. Whatever goes wrong in it is undone for all of them (S4), and each goes by itself then.
import { Batcher } from '../../base/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import type { BuiltStatement } from '../../job/pending.ts'
import type { Ledger, SettleRow, SharedCommits } from '../../store/ledger.ts'
import type { Claims } from '../held-claims.ts'
import type { Ready } from '../stages.ts'

/** What a statement answered. */
interface Rows {
  readonly rows: Record<string, unknown>[]
}

/** What one run leaves behind: a statement, and its own success. */
export interface Effect {
  readonly entry: Ready
  readonly statement: BuiltStatement
  readonly row: SettleRow
  /** False: its run called ctx.tx a second time meanwhile, and fails. */
  readonly maySend: () => boolean
  /** In a transaction of its own, with errors that are its own. */
  readonly alone: () => Promise<Rows>
}

/** Statements that share a transaction, at first and at most; about how long it may take; how many of a job are away at a time. */
const sharing = { first: 2, most: 100, ms: 20, abreast: 2 }
/**
 * So many effects of a job go by themselves when sharing has failed, or when a statement took longer than this: side by side they are
 * quicker then than one after the other. After that it is tried again.
 */
const alone = { effects: 50, fromMs: 5 }

export interface EffectsPorts {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'shared'>
  readonly claims: Claims
}

/** Effects of all jobs, each of which waits for its own kind only: a job whose statements are slow keeps no other waiting. */
export function effectsOf(ports: EffectsPorts): ((effect: Effect) => Promise<Rows>) | undefined {
  const { shared } = ports.ledger
  if (!shared) return undefined
  const lines = new Map<string, Line>()
  return (effect) => {
    const { name } = effect.entry.job
    const line = lines.get(name) ?? new Line(ports, shared)
    lines.set(name, line)
    return line.add(effect)
  }
}

class Line {
  readonly #ports: EffectsPorts
  readonly #shared: SharedCommits
  readonly #batcher: Batcher<Effect, Rows | null>
  /** How many may share a transaction now. */
  #size = sharing.first
  /** Effects that still go by themselves. */
  #aloneLeft = 0

  constructor(ports: EffectsPorts, shared: SharedCommits) {
    this.#ports = ports
    this.#shared = shared
    this.#batcher = new Batcher(
      ports.clock,
      () => this.#size,
      (effects) => this.#together(effects),
      { abreast: sharing.abreast },
    )
  }

  async add(effect: Effect): Promise<Rows> {
    const answer = this.#areAlone(1) ? null : (await this.#batcher.add([effect]))[0]
    return answer ?? effect.alone()
  }

  #areAlone(count: number): boolean {
    if (this.#aloneLeft <= 0) return false
    this.#aloneLeft -= count
    return true
  }

  /** Null for one that has to go by itself. */
  async #together(given: readonly Effect[]): Promise<readonly (Rows | null)[]> {
    const { claims } = this.#ports
    const effects = given.filter(({ maySend }) => maySend())
    if (effects.length <= 1 || this.#areAlone(effects.length)) return given.map(() => null)
    // M30: in key order, so that those who write rows of their own keys cannot deadlock.
    const sorted = effects.toSorted((a, b) => (a.entry.key < b.entry.key ? -1 : 1))
    try {
      const { answers, tookMs } = await this.#shared.settle(
        claims.holder,
        sorted.map(({ row }) => row),
        sorted.map(({ statement }) => statement),
      )
      this.#took(tookMs / effects.length)
      const of = new Map(sorted.map((effect, i) => [effect, answers[i] as Rows]))
      return given.map((effect) => of.get(effect) ?? null)
    } catch {
      // One of them is the cause, or lost its claim, or met a lock; or the store is away. Alone, each is told its own.
      this.#breakUp()
      return given.map(() => null)
    }
  }

  /** `ms`: of a statement, on average. */
  #took(ms: number): void {
    if (ms > alone.fromMs) this.#breakUp()
    else this.#size = Math.min(this.#size * 2, Math.floor(sharing.ms / Math.max(ms, 0.01)), sharing.most)
  }

  #breakUp(): void {
    this.#size = sharing.first
    this.#aloneLeft = alone.effects
  }
}
