// regrow status: how every job and worker stands, from regrow's tables.
import type { JobStatus, Status, WorkerRow } from '../../index.ts'
import { appArgs, command, storeArgs } from '../command.ts'
import { withStore } from '../open.ts'
import { brief, type Output, relative, table, visible } from '../output.ts'

export const status = command({
  name: 'status',
  summary: 'Shows how every job and worker stands',
  about: "Reads regrow's own tables and counts hints; runs no query of yours.",
  args: { ...storeArgs, ...appArgs },
  examples: [
    ['regrow status --store $DATABASE_URL', ''],
    ["regrow status --json | jq '.jobs[] | select(.quarantined > 0) | .job'", 'jobs with quarantined keys'],
  ],
  run: (args, cli) =>
    withStore(args, cli, async ({ app, from }) => {
      const found = await app.status()
      cli.out.result({ store: from, ...found }, () => describe(found, from, cli.out.color))
      return 0
    }),
})

function describe({ at, jobs, workers, queue }: Status, store: string, color: Output['color']): string {
  const head = `store ${store}, queue ${queue.name}`
  if (jobs.length === 0) return `${head}\nNo job yet: none was declared, enqueued or worked on.`
  const rows = jobs.map((each) => [
    each.job,
    String(each.running),
    String(each.retrying),
    String(each.quarantined),
    String(each.intents),
    hintsOf(each),
    String(each.workers),
    sweepOf(each, at),
  ])
  const headings = ['job', 'running', 'retrying', 'quarantined', 'intents', 'hints', 'workers', 'sweep']
  const parts = [head, table(color, headings, rows)]
  const warnings = [...jobs.flatMap((each) => warningsOf(each, at)), ...workers.flatMap(stuckOf)]
  if (warnings.length > 0) parts.push(warnings.map((line) => `${color.yellow('!')} ${line}`).join('\n'))
  if (workers.length > 0)
    parts.push(
      table(
        color,
        ['worker', 'pid', 'running', 'stuck', 'started', 'last beat', 'jobs'],
        workers.map(({ host, pid, running, stuck, startedAt, beatAt, live, jobs: handled }) => [
          visible(host),
          String(pid),
          String(running),
          String(stuck),
          relative(startedAt, at),
          `${relative(beatAt, at)}${live ? '' : ' (silent)'}`,
          handled.join(', '),
        ]),
      ),
    )
  return parts.join('\n\n')
}

function stuckOf({ host, pid, stuck }: WorkerRow): string[] {
  if (stuck === 0) return []
  const slots = stuck === 1 ? '1 slot is' : `${stuck} slots are`
  return [
    `${visible(host)}, pid ${pid}: ${slots} stuck in handlers that did not end after their timeout; start it anew`,
  ]
}

function hintsOf({ hints }: JobStatus): string {
  if (hints === null) return '?'
  return hints.delayed > 0 ? `${hints.due}+${hints.delayed}` : String(hints.due)
}

function sweepOf({ sweep }: JobStatus, at: Date): string {
  if (!sweep) return 'never'
  const next = sweep.sweeping ? 'now' : sweep.nextAt <= at ? 'due' : relative(sweep.nextAt, at)
  return sweep.lastSuccessAt === null
    ? next
    : `${next}, last ${relative(sweep.lastSuccessAt, at)}: ${sweep.seen} seen, ${sweep.pushed} pushed, ${sweep.held} held`
}

function warningsOf({ job, pause, sweep, quarantined, workers, intents, retrying }: JobStatus, at: Date): string[] {
  const lines: string[] = []
  if (pause) {
    const end = pause.until ? `, ends ${relative(pause.until, at)}` : ''
    lines.push(
      `${job} was paused ${relative(pause.since, at)} by ${visible(pause.author)}: ${brief(pause.reason)}${end}`,
    )
  }
  if (sweep?.lastError) lines.push(`${job}: its last sweep failed: ${brief(sweep.lastError, 120)}`)
  if (quarantined > 0) lines.push(`${job}: ${quarantined} in quarantine (regrow quarantine list --job ${job})`)
  if (workers === 0 && (sweep || intents + retrying > 0)) lines.push(`${job}: no live worker has its handler`)
  return lines
}
