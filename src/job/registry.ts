// The jobs of one app. Declaring binds: there is no list to forget. Mistakes wait here and are told all at once.
import { RegrowError } from '../base/errors.ts'
import type { Handler } from './handler.ts'
import { type Job, optionsOf, readJob } from './job.ts'

export class Registry {
  readonly #jobs = new Map<string, Job>()
  readonly #inline = new Map<string, Handler>()
  readonly #mistakes: string[] = []

  declare(name: string, given: unknown): Job {
    const { job, mistakes } = readJob(name, given)
    const options = optionsOf(given)
    this.#mistakes.push(...mistakes)
    if (this.#jobs.has(name))
      this.#mistakes.push(`job "${name}": declared twice; a name is the identity of one kind of work`)
    this.#jobs.set(name, job)
    if (typeof options.run === 'function') this.#inline.set(name, { job, run: options.run as Handler['run'] })
    return job
  }

  /** Adds mistakes found outside declarations, such as unknown options of the app. */
  blame(...mistakes: readonly string[]): void {
    this.#mistakes.push(...mistakes)
  }

  /** Throws one error that lists every mistake; called before the first use of anything. */
  verify(): void {
    if (this.#mistakes.length === 0) return
    const many = this.#mistakes.length === 1 ? 'a mistake' : `${this.#mistakes.length} mistakes`
    throw new RegrowError(
      'bad_declaration',
      `regrow found ${many}:\n${this.#mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
      'Mend them and start again.',
    )
  }

  jobs(): Job[] {
    return [...this.#jobs.values()]
  }

  get(name: string): Job | undefined {
    return this.#jobs.get(name)
  }

  inlineHandlers(): Handler[] {
    return [...this.#inline.values()]
  }
}
