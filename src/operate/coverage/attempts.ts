// Questions to the database that may be refused or take too long: each has an answer to go on with, and what went wrong is
// told once, at the end. An error of the store's own (away, unwell) is nobody's answer and is thrown on.
import type { Clock } from '../../base/clock.ts'
import { codeOf, messageOf } from '../../base/errors.ts'
import type { Classify } from '../../store/errors.ts'
import type { DoctorFinding } from '../doctor/finding.ts'

export class Attempts {
  readonly #clock: Clock
  readonly #classify: Classify
  readonly #until: number
  readonly #late = new Set<string>()
  readonly #refused = new Map<string, string>()

  constructor(clock: Clock, classify: Classify, budgetMs: number) {
    this.#classify = classify
    this.#clock = clock
    this.#until = clock.now() + budgetMs
  }

  /** What `ask` answers; `fallback` when the time is over or the database refuses. `what`: about which column. */
  async ask<T>(what: string, fallback: T, ask: () => Promise<T>): Promise<T> {
    if (this.#clock.now() > this.#until) {
      this.#late.add(what)
      return fallback
    }
    try {
      return await ask()
    } catch (error) {
      const kind = this.#classify(error)
      if (kind === 'timeout' || codeOf(error) === 'deadline') this.#late.add(what)
      else if (
        ['bad_row', 'mistake', 'unsupported'].includes(kind) ||
        ['bad_pending', 'bad_source'].includes(codeOf(error) ?? '')
      )
        this.#refused.set(what, messageOf(error).split('\n')[0] as string)
      else throw error
      return fallback
    }
  }

  findings(): DoctorFinding[] {
    const late = [...this.#late].map(
      (what): DoctorFinding => ({
        level: 'note',
        code: 'coverage_late',
        job: null,
        message: `${what}: not everything could be looked at in time`,
        why: 'What was not looked at is not known to be covered.',
        hint: 'An index on the column, and the indexes that doctor names for the pending queries, make it quick.',
        fix: null,
      }),
    )
    const refused = [...this.#refused].map(
      ([what, message]): DoctorFinding => ({
        level: 'warn',
        code: 'coverage_refused',
        job: null,
        message: `${what}: a question about it was refused: ${message}`,
        why: 'What could not be asked is not known to be covered.',
        hint: 'May this user select from the table? Where the key of a job is of another type than the column, name the right one: `covers.key`.',
        fix: null,
      }),
    )
    return [...refused, ...late]
  }
}
