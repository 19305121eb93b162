// A short hash of what a job declares: two workers that show different ones run different code.
import { createHash } from 'node:crypto'
import { isOwn, type Job } from './job.ts'

/** Twelve hex digits over the key's shape, the text of the pending query and the schedule; a thunk that throws counts as itself. */
export function fingerprint(job: Job): string {
  return createHash('sha256')
    .update(JSON.stringify([job.name, job.key.shape, textOf(job), ...(job.schedule ? [job.schedule] : [])]))
    .digest('hex')
    .slice(0, 12)
}

/** Of each job of the user's, by name. */
export const fingerprintsOf = (jobs: readonly Job[]): Readonly<Record<string, string>> =>
  Object.fromEntries(jobs.filter(({ name }) => !isOwn(name)).map((job) => [job.name, fingerprint(job)]))

function textOf(job: Job): string | null {
  try {
    return job.query?.().text ?? null
  } catch {
    return null
  }
}
