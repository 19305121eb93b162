// How far ahead hints are pushed: what comes due before the next sweep of its job has a delayed hint in time.
import type { Job } from './job.ts'

/** A sweep comes up to a tenth later than its interval, and its pass takes a moment. */
export const horizonMs = ({ sweepEveryMs }: Pick<Job, 'sweepEveryMs'>) => sweepEveryMs * 1.2 + 1_000
