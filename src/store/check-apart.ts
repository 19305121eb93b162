// Around the check: a key that breaks its batch is named, and the others are answered for (M36). A cancelled statement (a locked table, a
// small statement_timeout, an overloaded server) is mostly the store's fault, and then nobody's: a key is only blamed when another one
// passes at the same moment (L9).
import { bisect } from '../base/bisect.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { type Classify, isBadRow } from './errors.ts'
import type { Checked, Source } from './source.ts'

type Check = Source['check']

/** `check` with its batches halved until a bad row is alone. */
export const checkApart =
  (name: string, check: Check, classify: Classify): Check =>
  async (keys) => {
    /** The verdict of the judge has such an error as its cause, and is not one. */
    const isCancelled = (error: unknown) => !(error instanceof RegrowError) && classify(error) === 'timeout'
    const judge = new Judge(name, check, isCancelled)
    const isKeysFault = (error: unknown) => isBadRow(classify(error)) || isCancelled(error) || isBadAnswer(error)
    const { answers, broken } = await bisect(keys, (part) => judge.ask(part), isKeysFault)
    // When no key passes, it is the query that is broken, not its keys.
    if (broken.size === keys.length && keys.length > 1) throw [...broken.values()][0]
    const [all] = answers
    if (all && answers.length === 1 && broken.size === 0) return all
    return {
      paused: answers.some(({ paused }) => paused),
      pending: new Map(answers.flatMap(({ pending }) => [...pending])),
      broken,
    }
  }

/** A source of the user's own answers for these keys what cannot be read. */
const isBadAnswer = (error: unknown) => error instanceof RegrowError && ['bad_source', 'bad_key'].includes(error.code)

/** Decides for one batch whose fault a cancelled statement is. */
class Judge {
  readonly #name: string
  readonly #check: Check
  readonly #isCancelled: (error: unknown) => boolean
  /** A key that passed while others were cancelled. */
  #witness: string | undefined

  constructor(name: string, check: Check, isCancelled: (error: unknown) => boolean) {
    this.#name = name
    this.#check = check
    this.#isCancelled = isCancelled
  }

  async ask(part: readonly string[]): Promise<Checked> {
    try {
      return await this.#check(part)
    } catch (error) {
      if (!this.#isCancelled(error)) throw error
      if (part.length === 1) return this.#beside(part, error)
      // Halving a batch while nothing passes would take a time limit for each half, down to the last key.
      this.#witness ??= await this.#passing(part)
      throw this.#witness === undefined ? this.#slow(error) : error
    }
  }

  /** One key once more, while another one is asked about that passed before. That one begins first: what stalls both stalls it longer. */
  async #beside(one: readonly string[], error: unknown): Promise<Checked> {
    if (this.#witness === undefined) throw this.#slow(error)
    const [witness, own] = await Promise.allSettled([this.#check([this.#witness]), this.#check(one)])
    if (own.status === 'fulfilled') return own.value
    throw witness.status === 'rejected' && this.#isCancelled(own.reason) ? this.#slow(own.reason) : own.reason
  }

  /** A key that passes by itself: of the first, the middle and the last, asked about at once. */
  async #passing(part: readonly string[]): Promise<string | undefined> {
    const tried = [...new Set([0, part.length >> 1, part.length - 1])].map((i) => part[i] as string)
    const asked = await Promise.allSettled(tried.map((key) => this.#check([key])))
    return tried[asked.findIndex(({ status }) => status === 'fulfilled')]
  }

  #slow(cause: unknown): RegrowError {
    return new RegrowError(
      'check_cancelled',
      `The check of the ${this.#name} was cancelled: ${messageOf(cause)}`,
      'Nothing is counted, and the keys are looked at again. Is a table locked, the server overloaded, or statement_timeout too short for the pending query?',
      cause,
    )
  }
}
