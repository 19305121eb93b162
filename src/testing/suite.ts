// A suite is data: named cases that throw when a driver breaks a rule. Any test runner loops over them; none is imported.
// In: cases, what the driver skips and why, and how to make a case's surroundings. Out: what a runner can run.
import type { Clock } from '../drivers/index.ts'
import { RegrowError } from '../index.ts'

/** One rule. The name states it as a sentence; `run` throws when it is broken. */
export interface Case<Context> {
  readonly name: string
  run(context: Context): Promise<void>
}

/** A case that a driver does not pass, and why that is right for it. */
export interface Skip {
  /** The name of the case, word for word. A name that no case has is an error. */
  readonly case: string
  readonly reason: string
}

/** A case bound to a driver: `test(each.name, { skip: each.skip }, each.run)` in node:test. */
export interface RunnableCase {
  readonly name: string
  /** The reason to skip it; undefined when it is to be run. */
  readonly skip: string | undefined
  readonly run: () => Promise<void>
}

/** Binds cases to their surroundings. Throws when a skip has no reason or names no case: a skip must not outlive its case. */
export function bindCases<Context>(
  cases: readonly Case<Context>[],
  skips: readonly Skip[],
  surround: (run: (context: Context) => Promise<void>) => Promise<void>,
): RunnableCase[] {
  const reasons = new Map(skips.map((skip) => [skip.case, skip.reason]))
  const unknown = [...reasons.keys()].filter((name) => !cases.some((each) => each.name === name))
  if (unknown.length > 0)
    throw new RegrowError(
      'unknown_case',
      `Skipped, but no case of this suite: ${unknown.map((name) => `"${name}"`).join(', ')}`,
      `Remove the skip, or name one of:\n${cases.map(({ name }) => `    ${name}`).join('\n')}`,
    )
  const unexplained = skips.filter(({ reason }) => reason.trim() === '')
  if (unexplained.length > 0)
    throw new RegrowError(
      'skip_without_reason',
      `Skipped without a reason: ${unexplained.map((skip) => `"${skip.case}"`).join(', ')}`,
      'Say why the driver need not keep this rule.',
    )
  return cases.map(({ name, run }) => ({ name, skip: reasons.get(name), run: () => surround(run) }))
}

/** What `work` gives, or an error that says what did not end in time. */
export async function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  const since = clock.now()
  const tooLate = () =>
    new RegrowError('too_late', `${what}: expected within ${ms} ms, it did not end`, 'It hangs or is far too slow.')
  const late = clock.sleep(ms, done.signal).then(() => {
    if (done.signal.aborted) return new Promise<never>(() => {})
    throw tooLate()
  })
  try {
    const value = await Promise.race([work, late])
    // Work that never lets go of the thread keeps the timer from firing in time.
    if (clock.now() - since > 2 * ms + 1_000) throw tooLate()
    return value
  } finally {
    done.abort()
  }
}
