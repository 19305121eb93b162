// No worker is alive: one finding says so, instead of one for each job, claim and schedule that waits for a worker. Pure.
import { isOwn } from '../job/job.ts'
import type { Finding, State } from './findings.ts'
import { waitingAbout, waitText } from './waiting.ts'

const namesShown = 5

/** `waiting`: what would be found of single jobs and schedules, each for want of a worker. */
export function ofNoWorker({ jobs, at }: State, waiting: readonly Finding[]): Finding[] {
  if (waiting.length === 0) return []
  const all = [...new Set(waiting.flatMap(({ job }) => job ?? []))].sort()
  const users = all.filter((job) => !isOwn(job))
  const names = users.length > 0 ? users : all
  const counts = jobs.filter(({ job }) => names.includes(job)).map((job) => waitingAbout(job, at))
  const oldest = counts.filter(({ count }) => count > 0).map((each) => each.at.getTime())
  const total = {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    at: new Date(Math.min(at.getTime(), ...oldest)),
  }
  const unowned = jobs.reduce((sum, job) => sum + (job.unowned?.count ?? 0), 0)
  const claims =
    unowned === 0 ? '' : `; ${unowned} ${unowned === 1 ? 'claim is' : 'claims are'} left of those that died`
  const shown = `${names.slice(0, namesShown).join(', ')}${names.length > namesShown ? ', …' : ''}`
  return [
    {
      // When all of them are paused, nothing is to start anyway.
      level: waiting.some(({ level }) => level === 'bad') ? 'bad' : 'warn',
      code: 'no_worker',
      job: null,
      message: `No worker is alive: ${names.length} ${names.length === 1 ? 'job stands' : 'jobs stand'} still (${shown})${waitText(total, at)}${claims}`,
      hint: 'Start a worker: regrow work. Until then rows and inputs wait in the database, and nobody sweeps.',
    },
  ]
}
