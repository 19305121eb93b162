// A person called, or a CI: what is wrong, or will be, with the database, the queue, the fleet and every pending query? Reads
// only, and never migrates. Each examination stands for itself: one that fails is a finding, never the end of the others.
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { RegrowError } from '../../base/errors.ts'
import { checkOptions, longOptions, texts } from '../../base/options.ts'
import type { ProgressOptions } from '../../base/progress.ts'
import type { Job } from '../../job/job.ts'
import { unknownJob } from '../../job/unknown-job.ts'
import type { Queue } from '../../queue/queue.ts'
import type { JobCosts, StoreFacts } from '../../store/diagnosis.ts'
import type { Classify } from '../../store/errors.ts'
import type { Store } from '../../store/store.ts'
import { type CoveragePorts, coverageFindings } from '../coverage/coverage.ts'
import { ofDamaged } from '../declared-findings.ts'
import type { Health } from '../health.ts'
import { distinct } from './distinct.ts'
import type { DoctorFinding } from './finding.ts'
import { whys } from './finding-texts.ts'
import { ofDeclarations, ofHealth, ofLeases, ofStrays, ofUnserved } from './fleet-findings.ts'
import { ofReads, ofRefusal, sentences } from './job-findings.ts'
import { ofQueue } from './queue-findings.ts'
import { ofClock, ofStore } from './store-findings.ts'

export interface DoctorOptions extends ProgressOptions {
  /** Jobs whose pending queries are examined, and whose findings are told. Defaults to all that the app declares. */
  jobs?: readonly string[]
}

/** What the doctor found. */
export interface DoctorReport {
  /** The store's time; null: its tables are too old, or not there. */
  readonly at: Date | null
  /** Everything was examined, and no finding is `bad`. */
  readonly healthy: boolean
  /** The signal ended it: what was not examined is not told. */
  readonly stopped: boolean
  /** The bad first, then what is worth a change, then what is good to know. */
  readonly findings: readonly DoctorFinding[]
  /** What the pending query of each job costs. */
  readonly jobs: readonly JobCosts[]
}

export interface DoctorPorts {
  readonly clock: Clock
  readonly store: Pick<Store, 'diagnosis' | 'status' | 'outdated' | 'repair'> & CoveragePorts['store']
  readonly source: CoveragePorts['source']
  readonly jobs: readonly Job[]
  readonly guard: 'claim' | 'none'
  readonly leaseMs: number
  /** Opening the app would bring its tables up to date: the doctor leaves it closed then. */
  readonly migrates: boolean
  /** Throws where declarations hold mistakes. */
  readonly verify: () => void
  /** These open the app. */
  readonly health: () => Promise<Health>
  readonly queue: () => Promise<Pick<Queue, 'name' | 'shared' | 'inspection'>>
}

/** What has been seen so far. */
interface Visit extends DoctorPorts {
  /** Null: the store has no diagnosis. */
  readonly facts: StoreFacts | null
  readonly chosen: readonly Job[]
  readonly costs: JobCosts[]
  readonly options: DoctorOptions
}

/** One thing that is looked at. */
interface Examination {
  readonly what: string
  run(visit: Visit): Promise<readonly DoctorFinding[]>
}

/** Those that need regrow's tables, as old as this code can read them. */
const examinations: readonly Examination[] = [
  { what: "regrow's own rows", run: ownRows },
  { what: 'the clock', run: async (visit) => ofClock(await skewOf(visit)) },
  { what: 'the pending queries', run: jobs },
  // A column is covered by several jobs: who asks for one of them does not ask for that.
  { what: 'the coverage of states', run: async (visit) => (visit.options.jobs ? [] : coverageFindings(visit)) },
]

/** Those that open the app. */
const opening: readonly Examination[] = [
  { what: 'the queue', run: queue },
  { what: 'the health of the fleet', run: health },
  { what: 'the declarations of the fleet', run: declarations },
]

/** Rejects when the store does not answer: then there is nothing to examine. */
export async function doctor(ports: DoctorPorts, options: DoctorOptions = {}): Promise<DoctorReport> {
  checkOptions('doctor()', options, { jobs: texts, ...longOptions }, 'Nothing was examined.')
  const names = ports.jobs.map(({ name }) => name)
  const chosen = (options.jobs ?? names).map((name) => {
    const job = ports.jobs.find((each) => each.name === name)
    if (!job) throw unknownJob(name, names)
    return job
  })
  const facts = (await ports.store.diagnosis?.facts()) ?? null
  const visit: Visit = { ...ports, facts, chosen, costs: [], options }
  const found = [...(facts ? ofStore(facts) : [undiagnosed]), ...declared(visit)]
  const { readable, writable, outdated } = await standing(visit)
  const mayOpen = readable && writable && !found.some(isRefused)
  const closed = outdated && ports.migrates
  for (const examination of [...(readable ? examinations : []), ...(mayOpen && !closed ? opening : [])]) {
    if (options.signal?.aborted) break
    found.push(...(await examined(examination, visit)))
  }
  if (mayOpen && closed) found.push(leftClosed)
  const told = found.filter(({ job }) => options.jobs === undefined || job === null || options.jobs.includes(job))
  const levels = ['bad', 'warn', 'note'] as const
  const findings = levels.flatMap((level) => told.filter((each) => each.level === level))
  const at = readable ? new Date(await ports.store.status.time()) : null
  const stopped = options.signal?.aborted === true
  const healthy = !stopped && findings.every(({ level }) => level !== 'bad')
  return { at, healthy, stopped, findings: distinct(findings), jobs: visit.costs }
}

/** Whether regrow's tables can be read, as old as they are, and written; a store without diagnosis knows only if it is up to date. */
async function standing({ facts, store }: Visit): Promise<{ readable: boolean; writable: boolean; outdated: boolean }> {
  if (!facts) {
    const outdated = await store.outdated()
    return { readable: !outdated, writable: true, outdated }
  }
  const { schema, replica, readOnly } = facts
  const known = typeof schema.found === 'number' ? schema.found : null
  return {
    readable: known !== null && known >= schema.oldest,
    writable: !replica && !readOnly,
    outdated: known !== null && known < schema.newest,
  }
}

async function examined({ what, run }: Examination, visit: Visit): Promise<readonly DoctorFinding[]> {
  try {
    return await run(visit)
  } catch (error) {
    return [notExamined(what, null, error, visit.store.classify)]
  }
}

function notExamined(what: string, job: string | null, error: unknown, classify: Classify): DoctorFinding {
  const { message, hint } = sentences(error, classify)
  const said = `${what} could not be examined: ${message.split('\n', 1)[0]}`
  const level = 'bad'
  return { level, code: 'not_examined', job, message: said, why: whys.not_examined, hint, fix: null }
}

/** Mistakes in declarations, which keep the app from being opened; and that it has no guard. */
function declared({ verify, guard, store }: Visit): DoctorFinding[] {
  const found: DoctorFinding[] = []
  try {
    verify()
  } catch (error) {
    const { message, hint } = sentences(error, store.classify)
    const code = 'declaration_refused'
    found.push({ level: 'bad', code, job: null, message, why: whys[code], hint, fix: null })
  }
  if (guard === 'none')
    found.push({
      level: 'note',
      code: 'guard_none',
      job: null,
      message: "The jobs of this app have no guard (guard: 'none')",
      why: whys.guard_none,
      hint: "Fine for cheap work that may be repeated. For everything else leave `guard` out: 'claim' is the default.",
      fix: null,
    })
  return found
}

const isRefused = ({ code }: DoctorFinding) => code === 'declaration_refused'

const undiagnosed: DoctorFinding = {
  level: 'note',
  code: 'not_examined',
  job: null,
  message: 'The server and the costs of the pending queries were not examined: this store cannot',
  why: whys.not_examined,
  hint: "Look at the server's own tools: its version, its connections, and the plan of each pending query.",
  fix: null,
}

const leftClosed: DoctorFinding = {
  level: 'warn',
  code: 'not_examined',
  job: null,
  message: 'The queue and the fleet were not examined: opening this app would migrate its tables',
  why: whys.not_examined,
  hint: 'Run `regrow migrate` first, or set `migrate: false` (the default in production).',
  fix: null,
}

/** How far this process's clock is ahead of the store's; what may be the way there and back counts as nothing. */
async function skewOf({ clock, store }: Visit): Promise<number> {
  const before = clock.wall()
  const there = await store.status.time()
  const after = clock.wall()
  return there < before ? before - there : there > after ? after - there : 0
}

/** All of them, the large tables too; health, which is asked often, tells of the small ones by itself. */
async function ownRows({ store }: Visit): Promise<DoctorFinding[]> {
  const damaged = (await store.repair?.({ whole: true, mend: false })) ?? []
  return ofDamaged(damaged).map((found) => ({ ...found, why: whys[found.code], fix: null }))
}

async function jobs({ store, chosen, costs, options }: Visit): Promise<DoctorFinding[]> {
  const found: DoctorFinding[] = []
  for (const [done, job] of chosen.entries()) {
    if (options.signal?.aborted) break
    options.onProgress?.({ what: 'pending queries', done, total: chosen.length })
    found.push(...(await ofJob(store, job, costs)))
  }
  options.onProgress?.({ what: 'pending queries', done: chosen.length, total: chosen.length })
  return found
}

async function ofJob(store: Visit['store'], job: Job, costs: JobCosts[]): Promise<DoctorFinding[]> {
  try {
    const cost = await store.diagnosis?.cost(job)
    if (cost) {
      costs.push(cost.costs)
      return ofReads(cost)
    }
    return job.custom ? [ownSource(job.name)] : []
  } catch (error) {
    if (error instanceof RegrowError && error.code !== 'deadline') return [ofRefusal(job.name, error)]
    return [notExamined(`${job.name}: its pending query`, job.name, error, store.classify)]
  }
}

const ownSource = (job: string): DoctorFinding => ({
  level: 'note',
  code: 'source_own',
  job,
  message: `${job}: its rows are read by functions of yours ({ page, isPending })`,
  why: whys.source_own,
  hint: '`regrow sweep <job> --dry-run` shows how long a pass takes.',
  fix: null,
})

/** S16: a person waits for the answer. */
const queuePatienceMs = 10_000

async function queue({ clock, queue: open, health: ask, store, leaseMs }: Visit): Promise<DoctorFinding[]> {
  const { name, shared, inspection } = await open()
  const fleet = (await store.status.declarations(leaseMs)).length
  const asked = withDeadline(clock, queuePatienceMs, 'queue.facts', inspection?.facts() ?? Promise.resolve({}))
  const facts = await asked.catch(async (error: unknown) => {
    // That it does not answer is told by health, once.
    if ((await ask()).queue.down) return {}
    throw error
  })
  return ofQueue(name, shared, facts, fleet)
}

async function health({ health: ask, costs, leaseMs }: Visit): Promise<DoctorFinding[]> {
  const found = await ask()
  const others = ofHealth(found).filter(({ code }) => code !== 'rows_damaged')
  return [...others, ...ofStrays(found), ...ofUnserved(found, costs), ...ofLeases(found, leaseMs)]
}

async function declarations({ jobs: declaredJobs, store, leaseMs }: Visit): Promise<DoctorFinding[]> {
  const rows = await store.status.declarations(leaseMs)
  return ofDeclarations(declaredJobs, rows, new Date(await store.status.time()))
}
