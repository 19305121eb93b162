// What this process holds: its identity, its take numbers, and when its last beat was confirmed.

import type { Random } from '../base/random.ts'
import { Numbered } from '../base/sequence-map.ts'

/** What is told when the claim is lost while its handler runs. */
export interface Abortable {
  abort(reason: Error): void
}

/** Of a claim whose handler does not run. */
const nobody: Abortable = { abort: () => {} }

export class Claims {
  readonly #random: Random
  readonly #known = new Numbered<Abortable>()
  #holder: string
  #lastTake = 0
  #beatAt = Number.NEGATIVE_INFINITY

  constructor(random: Random) {
    this.#random = random
    this.#holder = random.hex(16)
  }

  /** Random 128-bit identity of this worker; a new one after it was declared dead. */
  get holder(): string {
    return this.#holder
  }

  /** A take number: a counter in this process, never reused (S3). It counts as awaited until `forget`. */
  next(): number {
    this.#known.set(++this.#lastTake, nobody)
    return this.#lastTake
  }

  /** Whom to tell when the claim is lost. */
  watch(take: number, run: Abortable): void {
    this.#known.set(take, run)
  }

  /** False after `forget`, and when we went on as somebody else: then the claim is not ours any more. */
  holds(take: number): boolean {
    return this.#known.has(take)
  }

  forget(take: number): void {
    this.#known.delete(take)
  }

  /** Takes that are running or awaited, and the highest one handed out; the beat gives back the others. */
  known(): { takes: number[]; highest: number } {
    return { takes: Array.from(this.#known.entries(), ([take]) => take), highest: this.#lastTake }
  }

  confirmed(sentAt: number): void {
    this.#beatAt = sentAt
  }

  /** True while nobody can have declared us dead: the last confirmed beat is younger than lease − margin. */
  sure(now: number, leaseMs: number): boolean {
    return now - this.#beatAt < leaseMs * 0.8
  }

  /** Our row is gone: abort everything and go on as somebody else. */
  renew(reason: Error): void {
    this.abortAll(reason)
    this.#known.clear()
    this.#holder = this.#random.hex(16)
    this.#beatAt = Number.NEGATIVE_INFINITY
  }

  abortAll(reason: Error): void {
    for (const [, run] of [...this.#known.entries()]) run.abort(reason)
  }
}
