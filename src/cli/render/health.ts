// Health as people read it: what is wrong, what waits, how the sweeps stand, who works, and when the queue was lost last.

import { readable } from '../../base/duration.ts'
import type { Finding, HealRow, Health, JobHealth, WorkerRow } from '../../operate/index.ts'
import { brief, type Column, fittedTable, type Output, relative, visible } from '../output.ts'

/** Where no terminal says otherwise. */
const usualWidth = 100
const healsShown = 3

/** Everything, as tables that fit into `width`. */
export function healthText(health: Health, store: string, color: Output['color'], width = usualWidth): string {
  const { at, jobs, workers, findings, heals } = health
  const head = healthHead(health, store)
  const none = jobs.length === 0
  return [
    none ? `${head}\nNo job yet: none was declared, enqueued or worked on.` : head,
    ...(findings.length > 0 ? [findingsText(findings, color)] : []),
    ...(none ? [] : [jobsTable(jobs, at, color, width)]),
    ...(jobs.some(({ sweep }) => sweep) ? [sweepsTable(jobs, at, color, width)] : []),
    ...(workers.length > 0 ? [workersTable(workers, at, color, width)] : []),
    ...(heals.length > 0 ? [healsTable(heals.slice(0, healsShown), at, color, width)] : []),
  ].join('\n\n')
}

/** Where all this is. */
export const healthHead = ({ queue }: Health, store: string) =>
  `store ${visible(store)}, queue ${visible(queue.name)}${queue.down ? ', which does not answer' : queue.unseen.includes(queue.name) ? ', which cannot be seen from here' : ''}`

/** What is wrong and nothing else. */
export function checkText({ healthy, findings, jobs, workers }: Health, store: string, color: Output['color']): string {
  const bad = findings.filter(({ level }) => level === 'bad').length
  const verdict = healthy ? color.green('healthy') : `${color.red('unhealthy')} for ${counted(bad, 'reason')}`
  const live = counted(workers.filter((worker) => worker.live).length, 'live worker')
  const head = `${verdict}: ${counted(jobs.length, 'job')}, ${live}, store ${visible(store)}`
  return findings.length === 0 ? head : `${head}\n${findingsText(findings, color)}`
}

type Line = Pick<Finding, 'level' | 'message' | 'hint'>

/** A line each, without what to do. */
export const findingMessages = (findings: readonly Finding[], color: Output['color']) =>
  together(findings).map((line) => messageText(line, color))

const messageText = ({ level, message }: Line, color: Output['color']) =>
  `${level === 'bad' ? color.red('!!') : color.yellow('! ')} ${visible(message)}`

const findingsText = (findings: readonly Finding[], color: Output['color']) =>
  together(findings)
    .map((line) => `${messageText(line, color)}\n   ${color.dim(`→ ${visible(line.hint)}`)}`)
    .join('\n')

/** Names in one line, at most. */
const namesMost = 8

/** Jobs without a handler, of one level, are one line: after a deploy that left out a file they are many. */
function together(findings: readonly Finding[]): Line[] {
  const isOne = ({ code, level }: Finding, as: Finding) =>
    code === 'no_handler' && as.code === code && as.level === level
  return findings.flatMap((finding, i): Line[] => {
    const same = findings.filter((each) => isOne(each, finding))
    if (same.length < 2) return [finding]
    if (findings.findIndex((each) => isOne(each, finding)) < i) return []
    const names = same.slice(0, namesMost).map(({ job }) => job)
    const more = same.length > namesMost ? ` and ${same.length - namesMost} more` : ''
    return [
      {
        level: finding.level,
        message: `${names.join(', ')}${more}: no live worker has their handlers`,
        hint: 'Start a worker that has them. A job that is gone from your code for good is forgotten by: regrow forget <job>',
      },
    ]
  })
}

export function jobsTable(jobs: readonly JobHealth[], at: Date, color: Output['color'], width: number): string {
  const column = (heading: string, cell: (job: JobHealth) => string, rank = 0): Column => ({
    heading,
    cells: jobs.map(cell),
    rank,
  })
  return fittedTable(
    color,
    [
      column('job', ({ job }) => job),
      column('pending', (job) => pendingOf(job, at)),
      column('oldest', oldestOf, 3),
      column('running', ({ running }) => String(running)),
      column('retrying', ({ retrying }) => String(retrying)),
      column('quarantined', ({ quarantined }) => String(quarantined)),
      column('no progress', ({ noProgress }) => unlessZero(noProgress), 6),
      column('intents', ({ intents }) => unlessZero(intents), 7),
      column('hints', hintsOf, 2),
      column('stray', ({ drift }) => unlessZero(drift.hintsWithoutRow ?? 0), 5),
      column('unowned', ({ drift }) => unlessZero(drift.claimsWithoutOwner), 4),
      column('workers', ({ workers }) => String(workers), 1),
    ],
    width,
  )
}

function sweepsTable(all: readonly JobHealth[], at: Date, color: Output['color'], width: number): string {
  const jobs = all.flatMap(({ job, sweep }) => (sweep ? [{ job, sweep }] : []))
  type Swept = (typeof jobs)[number]
  const column = (heading: string, cell: (swept: Swept) => string, rank = 0): Column => ({
    heading,
    cells: jobs.map(cell),
    rank,
  })
  const next = ({ sweep: { sweeping, nextAt } }: Swept) =>
    sweeping ? 'now' : nextAt <= at ? 'due' : relative(wholeSeconds(nextAt, at), at)
  return fittedTable(
    color,
    [
      column('sweep', ({ job }) => job),
      column('last success', ({ sweep: { lastSuccessAt } }) =>
        relative(lastSuccessAt && wholeSeconds(lastSuccessAt, at), at),
      ),
      column('took', ({ sweep }) => readable(sweep.tookMs), 2),
      column('seen', ({ sweep }) => String(sweep.seen)),
      column('pushed', ({ sweep }) => String(sweep.pushed)),
      column('held', ({ sweep }) => String(sweep.held), 1),
      column('dropped', ({ sweep }) => unlessZero(sweep.dropped), 3),
      column('errors', ({ sweep }) => unlessZero(sweep.errors), 4),
      column('every', ({ sweep }) => (sweep.everyMs === null ? '–' : readable(sweep.everyMs)), 5),
      column('next', next),
    ],
    width,
  )
}

export function workersTable(workers: readonly WorkerRow[], at: Date, color: Output['color'], width: number): string {
  const column = (heading: string, cell: (worker: WorkerRow) => string, rank = 0): Column => ({
    heading,
    cells: workers.map(cell),
    rank,
  })
  return fittedTable(
    color,
    [
      column('worker', ({ host }) => brief(host, 30)),
      column('pid', ({ pid }) => String(pid)),
      column('running', ({ running }) => String(running)),
      column('stuck', ({ stuck }) => String(stuck)),
      column('started', ({ startedAt }) => relative(startedAt, at), 2),
      column('last beat', ({ beatAt, live }) => `${relative(beatAt, at)}${live ? '' : ' (silent)'}`),
      // The rest of the line is theirs; --json has them all.
      column('jobs', ({ jobs }) => brief(jobs.join(', '), Math.max(20, width - 75)), 1),
    ],
    width,
  )
}

function healsTable(heals: readonly HealRow[], at: Date, color: Output['color'], width: number): string {
  const column = (heading: string, cell: (heal: HealRow) => string, rank = 0): Column => ({
    heading,
    cells: heals.map(cell),
    rank,
  })
  return fittedTable(
    color,
    [
      column('queue lost', ({ at: since }) => relative(wholeSeconds(since, at), at)),
      column('mark', ({ how }) => how),
      column('noticed by', ({ noticedBy }) => brief(noticedBy, 30), 1),
      column('hints back', ({ pushed }) => String(pushed)),
      column('healed', ({ at: since, endedAt, jobsLeft }) =>
        endedAt === null ? `not yet, ${jobsLeft} left` : `after ${readable(endedAt.getTime() - since.getTime())}`,
      ),
    ],
    width,
  )
}

/** Without quarantine, which has a column of its own; with its age where it is old. */
function pendingOf({ waiting }: JobHealth, now: Date): string {
  if (!waiting) return '?'
  const age = waiting.stale ? ` (${relative(wholeSeconds(waiting.at, now), now)})` : ''
  return `${waiting.estimated ? '~' : ''}${waiting.count}${age}`
}

/** At the time of the last sweep. */
function oldestOf({ sweep }: JobHealth): string {
  if (!sweep?.oldestAt || !sweep.lastSuccessAt) return '–'
  return readable(Math.max(0, Math.round((sweep.lastSuccessAt.getTime() - sweep.oldestAt.getTime()) / 1_000) * 1_000))
}

function hintsOf({ hints }: JobHealth): string {
  if (hints === null) return '?'
  return hints.delayed > 0 ? `${hints.due}+${hints.delayed}` : String(hints.due)
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

const unlessZero = (count: number) => (count === 0 ? '–' : String(count))

const wholeSeconds = (date: Date, at: Date) =>
  new Date(at.getTime() + Math.round((date.getTime() - at.getTime()) / 1_000) * 1_000)
