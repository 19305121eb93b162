// regrow sweep: whole passes of some jobs now, or what they would do.
import { readable } from '../../base/duration.ts'
import { operate, type SweepReport } from '../../operate/index.ts'
import { appArgs, command, exitCodes, usage } from '../command.ts'
import { withApp } from '../open.ts'
import { brief, type Output, table, visible } from '../output.ts'
import { showingProgress } from '../progress.ts'

export const sweep = command({
  name: 'sweep',
  summary: 'Pushes the hints that are missing, now instead of at the next sweep',
  about:
    'Runs the pending queries of your app. --dry-run pushes nothing and changes nothing: it says what a pass would find, why\nrows are held, which hints are there already, and how long it takes.',
  args: {
    job: { type: 'positional', required: false, description: 'The job to sweep' },
    all: { type: 'boolean', description: 'Sweep every job of the app' },
    'dry-run': { type: 'boolean', description: 'Only say what a sweep would do' },
    ...appArgs,
  },
  examples: [
    ['regrow sweep database.create', ''],
    ['regrow sweep --all --dry-run', 'how much is pending, what holds it, and what would be pushed'],
  ],
  async run(args, cli) {
    const { job } = args
    if (job === undefined && !args.all) throw usage('Which job?', 'Name one, or give --all.')
    if (job !== undefined && args.all) throw usage(`Both "${job}" and --all were given`, 'Give one of them.')
    return withApp(args, cli, async ({ app }) => {
      const dryRun = args['dry-run'] === true
      const choice = { dryRun, ...(job === undefined ? {} : { jobs: [job] }) }
      const { value: reports, stopped } = await showingProgress(cli, (long) =>
        operate(app).sweep({ ...choice, ...long }),
      )
      const { shared } = await operate(app).queue()
      cli.out.result({ sweeps: reports, stopped }, () => describe(reports, dryRun, stopped, cli.out.color))
      if (!dryRun && !shared)
        cli.out.note('The queue is in memory and ends with this process; the sweep is due again for the next worker.')
      if (stopped) return exitCodes.stopped
      return reports.some(({ error }) => error !== null) ? exitCodes.failed : exitCodes.fine
    })
  },
})

function describe(reports: readonly SweepReport[], dryRun: boolean, stopped: boolean, color: Output['color']): string {
  if (reports.length === 0) return stopped ? 'Stopped before the first page.' : 'The app declares no jobs.'
  const rows = reports.map(({ job, seen, eligible, held, hinted, pushed, tookMs }) => [
    job,
    String(seen),
    String(eligible),
    String(held),
    // Without a look at single hints it is what the counts tell.
    dryRun && hinted === null ? `${pushed}+` : String(pushed),
    ...(dryRun ? [hinted === null ? '?' : String(hinted)] : []),
    readable(tookMs),
  ])
  const headings = dryRun
    ? ['job', 'seen', 'eligible', 'held', 'would push', 'hinted', 'took']
    : ['job', 'seen', 'eligible', 'held', 'pushed', 'took']
  const notes = reports.flatMap((report) => notesOf(report, color))
  return [table(color, headings, rows), ...(notes.length > 0 ? [notes.join('\n')] : [])].join('\n\n')
}

/** What failed, and under it what to do, where the error says so. */
function failed(job: string, error: string, color: Output['color']): string[] {
  const [what = '', cure] = error.replace(`Job "${job}": `, '').split(/\n\s*→ /)
  return [
    `${color.red('!')} ${visible(job)}: ${brief(what, 200)}`,
    ...(cure === undefined ? [] : [`  → ${brief(cure, 300)}`]),
  ]
}

function notesOf(report: SweepReport, color: Output['color']) {
  const { error, finished, stopped, paused, keys, heldBy, held, unusable } = report
  const job = visible(report.job)
  const sign = color.yellow('!')
  const reasons = heldBy
    ? [
        [heldBy.running, 'running'],
        [heldBy.backedOff, 'backed off'],
        [heldBy.quarantined, 'quarantined'],
        [heldBy.later, 'with a run_at beyond the next sweep'],
      ].flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]))
    : []
  return [
    ...(keys.length > 0 ? [`  ${job}: ${keys.map(visible).join(', ')}`] : []),
    ...(unusable > 0
      ? [
          `${sign} ${job}: ${unusable} ${unusable === 1 ? 'row' : 'rows'} can never run: the key is too long, or of another type, or the query fails for it`,
        ]
      : []),
    ...(held > 0 && reasons.length > 0 ? [`  ${job}: held are ${reasons.join(', ')}`] : []),
    ...(error === null ? [] : failed(report.job, error, color)),
    ...(stopped ? [`${sign} ${job}: stopped before the end`] : []),
    ...(error === null && !finished && !stopped
      ? [`${sign} ${job}: the queue is full; workers go on as it drains`]
      : []),
    ...(paused ? [`${sign} ${job} is paused: nothing of it is hinted until it is resumed`] : []),
  ]
}
