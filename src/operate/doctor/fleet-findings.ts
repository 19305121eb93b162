// What the fleet's own tables tell: what health finds, rows of jobs that nobody knows, and declarations that differ. Pure.
// Health decides what is unhealthy; here it only gets its reason.
import { readable } from '../../base/duration.ts'
import { fingerprint } from '../../job/fingerprint.ts'
import type { Job } from '../../job/job.ts'
import type { JobCosts } from '../../store/diagnosis.ts'
import type { DeclarationRow } from '../../store/status.ts'
import type { Health, JobHealth } from '../health.ts'
import type { DoctorFinding } from './finding.ts'
import { whys } from './finding-texts.ts'

/** Longer than a deploy takes: until then old and new workers live side by side on purpose. */
const deployMs = 15 * 60_000

/** What `operate(app).health()` finds, with its reason. */
export const ofHealth = ({ findings }: Health): DoctorFinding[] =>
  findings.map(({ level, code, job, message, hint }) => ({
    level,
    code,
    job,
    message,
    why: whys[code],
    hint,
    fix: null,
  }))

/** Rows of jobs that neither this app declares nor any live worker has. */
export const ofStrays = ({ jobs }: Health): DoctorFinding[] =>
  jobs.filter(({ declared, workers, ...job }) => !declared && workers === 0 && remembered(job) > 0).map(stray)

const remembered = ({ running, retrying, quarantined, intents }: Omit<JobHealth, 'declared' | 'workers'>) =>
  running + retrying + quarantined + intents

function stray(row: JobHealth): DoctorFinding {
  const { job, running, retrying, quarantined, intents } = row
  const name = job.replaceAll("'", "''")
  const inLedger = running + retrying + quarantined
  const held = [
    ...(inLedger > 0 ? [`${inLedger} in the ledger, ${quarantined} of them quarantined`] : []),
    ...(intents > 0 ? [`${intents} stored input${intents === 1 ? '' : 's'}`] : []),
  ]
  return {
    level: 'warn',
    code: 'job_unknown',
    job,
    message: `${job}: neither this app nor any live worker knows it, and it has ${held.join(' and ')}`,
    why: whys.job_unknown,
    hint: `Start a worker that has it, if there is one. If it is gone for good: regrow forget ${job}${quarantined + intents > 0 ? ' --force' : ''}`,
    fix: [
      `delete from regrow.ledger where job = '${name}' and holder is null;`,
      ...(intents > 0 ? [`delete from regrow.intents where job = '${name}';`] : []),
      `delete from regrow.sweeps where job = '${name}';`,
    ].join('\n'),
  }
}

/**
 * Jobs that no worker ever had, though workers live and rows wait: health knows jobs by their sweeps, and there is none yet. Where nobody
 * works, in a build for one, that is no news.
 */
export function ofUnserved({ jobs, workers, findings }: Health, costs: readonly JobCosts[]): DoctorFinding[] {
  if (!workers.some(({ live }) => live)) return []
  return costs.flatMap(({ job, page }): DoctorFinding[] => {
    const known = findings.some((finding) => finding.code === 'no_handler' && finding.job === job)
    const served = (jobs.find((each) => each.job === job)?.workers ?? 0) > 0
    const rows = page?.rows ?? 0
    if (known || served || rows === 0) return []
    return [
      {
        level: 'warn',
        code: 'no_handler',
        job,
        message: `${job}: no worker has had its handler yet, and ${rows.toLocaleString('en')} or more ${rows === 1 ? 'row waits' : 'rows wait'}`,
        why: whys.no_handler,
        hint: 'Start a worker that has it.',
        fix: null,
      },
    ]
  })
}

/** Live workers whose leases differ: each keeps its own, but how soon a dead one is noticed depends on which one it was. */
export function ofLeases({ workers }: Health, leaseMs: number): DoctorFinding[] {
  const live = workers.filter((worker) => worker.live && worker.leaseMs !== null)
  const leases = [...new Set(live.map((worker) => worker.leaseMs as number))].sort((a, b) => a - b)
  if (live.length === 0 || leases.every((each) => each === leaseMs)) return []
  const shown = live
    .map(({ host, pid, leaseMs: own }) => `${readable(own as number)} (${host}, pid ${pid})`)
    .slice(0, 4)
  const more = live.length > shown.length ? ', …' : ''
  return [
    {
      level: 'warn',
      code: 'leases_differ',
      job: null,
      message: `This app has a lease of ${readable(leaseMs)}, live workers have ${shown.join(', ')}${more}`,
      why: whys.leases_differ,
      hint: 'Give `lease` one value in all processes, as by one setting that they share.',
      fix: null,
    },
  ]
}

/** Jobs whose declaration is not the same everywhere. `at`: the store's time. */
export function ofDeclarations(jobs: readonly Job[], workers: readonly DeclarationRow[], at: Date): DoctorFinding[] {
  const names = [
    ...new Set([...workers.flatMap((worker) => Object.keys(worker.jobs)), ...jobs.map(({ name }) => name)]),
  ]
  return names.sort().flatMap((name) => {
    const having = workers.filter((worker) => name in worker.jobs)
    const youngest = new Map<string, DeclarationRow>()
    for (const worker of having) youngest.set(worker.jobs[name] as string, worker)
    const declared = jobs.find((job) => job.name === name)
    const own = declared && fingerprint(declared)
    // The youngest of each kind: all of them have lived side by side for so long.
    const sinceMs = Math.min(...[...youngest.values()].map(({ startedAt }) => at.getTime() - startedAt.getTime()))
    if (youngest.size > 1 && sinceMs > deployMs) return [differing(name, [...youngest.values()], sinceMs)]
    if (own !== undefined && youngest.size > 0 && !youngest.has(own)) return [undeployed(name, having.length)]
    return []
  })
}

const differing = (job: string, workers: readonly DeclarationRow[], sinceMs: number): DoctorFinding => ({
  level: 'warn',
  code: 'declarations_differ',
  job,
  message: `${job}: live workers have ${workers.length} different declarations of it, for ${readable(sinceMs)}: ${workers.map(({ host, pid }) => `${host}, pid ${pid}`).join('; ')}`,
  why: whys.declarations_differ,
  hint: 'Stop the workers of the old version. A query that your code builds anew each time has to have the same text: pass what changes as parameters.',
  fix: null,
})

const undeployed = (job: string, workers: number): DoctorFinding => ({
  level: 'note',
  code: 'declaration_undeployed',
  job,
  message: `${job}: this app declares another key or pending query than ${workers === 1 ? 'the live worker that has it' : `all ${workers} live workers that have it`}`,
  why: whys.declaration_undeployed,
  hint: 'Deploy it; or is this app the old one?',
  fix: null,
})
