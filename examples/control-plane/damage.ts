// What the reader (or, half-way, the demo itself) destroys, and how long it takes to grow back.
import type { Fleet } from './fleet.ts'
import type { Place } from './place.ts'

/** One wipe or one kill: the keys it struck, and when they started again. */
export interface Loss {
  readonly kind: 'wipe' | 'kill'
  readonly at: number
  readonly struck: number
  /** Struck keys that have not started again. Some never will: their work was done when the hint was destroyed. */
  readonly missing: Set<string>
  firstStartMs?: number
  lastStartMs?: number
}

export class Damage {
  readonly #place: Place
  readonly #fleet: Fleet
  readonly #say: (line: string) => void
  readonly losses: Loss[] = []

  constructor(place: Place, fleet: Fleet, say: (line: string) => void) {
    this.#place = place
    this.#fleet = fleet
    this.#say = say
  }

  count(kind: Loss['kind']): number {
    return this.losses.filter((loss) => loss.kind === kind).length
  }

  async wipe(): Promise<void> {
    const keys = await this.#place.wipe()
    if (keys.length > 0) this.#add('wipe', keys)
    this.#say(
      keys.length > 0
        ? `WIPED the queue: ${keys.length} hints destroyed`
        : 'the queue is empty just now: nothing to wipe',
    )
  }

  kill(): void {
    const killed = this.#fleet.kill()
    if (killed) this.#add('kill', killed.keys)
    this.#say(
      killed
        ? `KILLED worker ${killed.number} with ${killed.keys.length} running`
        : 'no worker is up just now: nothing to kill',
    )
  }

  /** A handler started somewhere: is it one that was struck? */
  started(key: string): void {
    for (const loss of this.losses) {
      if (!loss.missing.delete(key)) continue
      loss.lastStartMs = performance.now() - loss.at
      if (loss.firstStartMs !== undefined) continue
      loss.firstStartMs = loss.lastStartMs
      const what = loss.kind === 'wipe' ? 'the first wiped key' : "the first of the dead worker's keys"
      this.#say(`${what} starts again after ${seconds(loss.firstStartMs)}`)
    }
  }

  /** One line for each loss, for the end. */
  summary(): string[] {
    return this.losses.map(({ kind, struck, missing, firstStartMs, lastStartMs }) => {
      const what = kind === 'wipe' ? `wipe: ${struck} hints destroyed` : `kill: ${struck} running`
      if (firstStartMs === undefined) return `${what}, none of them had to start again`
      const times = `first start after ${seconds(firstStartMs)}, last after ${seconds(lastStartMs ?? firstStartMs)}`
      return `${what}, ${struck - missing.size} regrown, ${times}`
    })
  }

  #add(kind: Loss['kind'], keys: readonly string[]): void {
    this.losses.push({ kind, at: performance.now(), struck: keys.length, missing: new Set(keys) })
  }
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
