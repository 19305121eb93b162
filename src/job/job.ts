// Declare: what the user writes of a job, and the job as both arrows see it, with every default filled in.
import type { Context } from './handler.ts'
import type { RetryPolicy } from './outcome.ts'
import type { SqlQuery } from './pending.ts'

/** What the user writes. Durations are milliseconds. */
export interface JobOptions {
  /** Which rows imply that the job should run? Returns the key of each as `id`, a text. */
  pending: SqlQuery
  /** The handler. */
  run: (key: string, ctx: Context) => unknown
  /** Runs until quarantine (defaults to 20), and the wait after the first failure (2 s, doubling to 1 h, ± 25 %). */
  retry?: { attempts?: number; delay?: number }
  /** The safety net: how often the pending rows are looked through. Defaults to 1 minute, ± 10 %. */
  sweep?: { every?: number }
}

/** A job with every default filled in. */
export interface Job {
  readonly name: string
  readonly query: SqlQuery
  readonly run: JobOptions['run']
  readonly retry: RetryPolicy
  readonly sweepEveryMs: number
}

/** The job that these options declare. */
export function readJob(name: string, { pending, run, retry, sweep }: JobOptions): Job {
  return {
    name,
    query: pending,
    run,
    retry: { attemptsMax: retry?.attempts ?? 20, backoffMs: retry?.delay ?? 2_000 },
    sweepEveryMs: sweep?.every ?? 60_000,
  }
}
