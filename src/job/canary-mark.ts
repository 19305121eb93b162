// The canary: what queue and store both remember. A difference means that the queue was lost or rolled back.

export interface Mark {
  /** Another number after each loss. */
  readonly epoch: number
  /** Raised twice a second, in the queue first. */
  readonly sequence: number
}

/**
 * A mark as a queue's server keeps it; null when it is not exactly what regrow writes. Two texts never read as one mark: a number
 * beyond 2^53 would be rounded to another one, and `01` would equal `1` here but not in a comparison of texts on the server.
 */
export function readMark(epoch: unknown, sequence: unknown): Mark | null {
  const mark = { epoch: Number(epoch), sequence: Number(sequence) }
  const isExact = (number: number, given: unknown) =>
    Number.isSafeInteger(number) && number >= 0 && String(number) === String(given)
  return isExact(mark.epoch, epoch) && isExact(mark.sequence, sequence) ? mark : null
}

/** How the queue's mark differs: it is not there, of another epoch, or older than what the store knew before. */
export type Difference = 'missing' | 'foreign' | 'behind'

/** `known` was read from the store before `found` was read from the queue: a queue in order is never behind it. */
export function difference(known: Mark, found: Mark | null): Difference | null {
  if (found === null) return 'missing'
  if (found.epoch !== known.epoch) return 'foreign'
  // M11: a mark that is there may be that of an old copy.
  return found.sequence < known.sequence ? 'behind' : null
}
