// What the reader (or, half-way, the demo itself) destroys, and how long it takes to grow back.
import type { Member } from './fleet.ts'
import type { Place } from './place.ts'

/** One wipe or one kill: the keys it struck, and when they started again. */
interface Loss {
  readonly kind: 'wipe' | 'kill'
  readonly at: number
  readonly struck: number
  /** Struck keys that have not started again. Some never will: a hint may outlive its work, and only it was destroyed. */
  readonly missing: Set<string>
  firstStartMs?: number
  lastStartMs?: number
}

export class Damage {
  readonly #place: Place
  readonly #say: (line: string) => void
  readonly #losses: Loss[] = []

  constructor(place: Place, say: (line: string) => void) {
    this.#place = place
    this.#say = say
  }

  count(kind: Loss['kind']): number {
    return this.#losses.filter((loss) => loss.kind === kind).length
  }

  /** True when a key whose hint was wiped has started again. */
  get regrown(): boolean {
    return this.#losses.some(({ kind, firstStartMs }) => kind === 'wipe' && firstStartMs !== undefined)
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

  /** A worker died, by the reader's hand or otherwise. */
  died({ number, running, worker }: Member): void {
    this.#add('kill', [...running])
    this.#say(`KILLED worker ${number} (${worker?.killing}) with ${running.size} running`)
  }

  /** A handler started somewhere: is it one that was struck? */
  started(key: string): void {
    for (const loss of this.#losses) {
      if (!loss.missing.delete(key)) continue
      loss.lastStartMs = performance.now() - loss.at
      if (loss.firstStartMs !== undefined) continue
      loss.firstStartMs = loss.lastStartMs
      const what = loss.kind === 'wipe' ? 'first regrown start' : "first start of the dead worker's keys"
      this.#say(`${what} ${seconds(loss.firstStartMs)} after the ${loss.kind}`)
    }
  }

  /** One line for each loss, for the end. */
  summary(): string[] {
    return this.#losses.map(({ kind, struck, missing, firstStartMs, lastStartMs }) => {
      const what = `${kind}: ${struck} ${kind === 'wipe' ? 'hints destroyed' : 'runs cut off'}`
      if (firstStartMs === undefined || lastStartMs === undefined) return `${what}, none of them had to start again`
      const times = `first after ${seconds(firstStartMs)}, last after ${seconds(lastStartMs)}`
      return `${what}, ${struck - missing.size} started again: ${times}`
    })
  }

  #add(kind: Loss['kind'], keys: readonly string[]): void {
    this.#losses.push({ kind, at: performance.now(), struck: keys.length, missing: new Set(keys) })
  }
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
