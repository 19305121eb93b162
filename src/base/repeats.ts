// Says the same thing at most once in a while: the first time at once, then at growing intervals, with how often it happened
// meanwhile. Nothing is kept of what stopped happening.
import type { Clock } from './clock.ts'

/** The first interval; doubled each time that something was held back in it. */
const intervalMs = { first: 10_000, most: 300_000 }
/** Different things at a time; more of them count as one, so that hostile names cannot fill the memory. */
const kindsMax = 200
/** Of one family: when the same mistake is in two hundred jobs, the first of them are named and the others are counted. */
const familyMax = 8

interface Kind<T> {
  readonly family: string
  until: number
  intervalMs: number
  held: { last: T; count: number } | null
  cancel: () => void
}

export class Repeats<T> {
  readonly #clock: Pick<Clock, 'now' | 'after'>
  readonly #say: (what: T, more: number, overMs: number | null) => void
  readonly #kinds = new Map<string, Kind<T>>()

  /** `say` is given the last of its kind, how many more there were since it was said before, and how long that is; null: it is said as it happens. */
  constructor(clock: Pick<Clock, 'now' | 'after'>, say: (what: T, more: number, overMs: number | null) => void) {
    this.#clock = clock
    this.#say = say
  }

  /** `family`: what has the same cause, whatever it is about. */
  tell(name: string, what: T, family = name): void {
    const now = this.#clock.now()
    this.#forget(now)
    const kindName = this.#kinds.has(name) ? name : this.#room(name, family)
    const kind = this.#kinds.get(kindName)
    if (!kind) {
      this.#kinds.set(kindName, { family, ...interval(now, intervalMs.first), held: null, cancel: () => {} })
      this.#say(what, 0, null)
      return
    }
    if (!kind.held) kind.cancel = this.#clock.after(kind.until - now, () => this.#due(kind), { background: true })
    kind.held = { last: what, count: (kind.held?.count ?? 0) + 1 }
  }

  /** The name under which a new kind counts. */
  #room(name: string, family: string): string {
    if (this.#kinds.size >= kindsMax) return ''
    const relatives = [...this.#kinds.values()].filter((kind) => kind.family === family)
    return relatives.length < familyMax ? name : `more of ${family}`
  }

  /** Says what was held back, and begins anew. */
  flush(): void {
    const kinds = [...this.#kinds.values()]
    this.#kinds.clear()
    for (const kind of kinds) {
      kind.cancel()
      this.#release(kind)
    }
  }

  #due(kind: Kind<T>): void {
    this.#release(kind)
    Object.assign(kind, interval(this.#clock.now(), Math.min(2 * kind.intervalMs, intervalMs.most)))
  }

  #release(kind: Kind<T>): void {
    const { held } = kind
    kind.held = null
    const overMs = this.#clock.now() - (kind.until - kind.intervalMs)
    if (held) this.#say(held.last, held.count - 1, overMs)
  }

  #forget(now: number): void {
    for (const [name, { until, held }] of this.#kinds) if (!held && until <= now) this.#kinds.delete(name)
  }
}

const interval = (now: number, ms: number) => ({ until: now + ms, intervalMs: ms })
