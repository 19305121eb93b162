// How far back a beat looks for claims of ours that nobody here knows of (M31). Those of long ago are over; but while somebody
// keeps a transaction open, the index still has every one of them, and a beat that looked at all would take longer each time.

/** A take whose reply was lost may commit late: only what was over so many beats ago counts as over. */
const lateBeats = 20

export class Behind {
  /** The lowest take that was known or awaited, beat by beat, since the last look at all of them. */
  #lows: number[] = []

  /** Where this beat begins; `low`: the lowest take that is known or awaited now. Every so often that is the beginning. */
  lowest(low: number): number {
    this.#lows.push(low)
    if (this.#lows.length <= 2 * lateBeats) return this.#lows.at(-1 - lateBeats) ?? 0
    this.#lows = this.#lows.slice(-lateBeats)
    return 0
  }
}
