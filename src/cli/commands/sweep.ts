// regrow sweep: whole passes of some jobs now, or what they would do.
import { readable, type SweepReport } from '../../index.ts'
import { appArgs, command, usage } from '../command.ts'
import { withApp } from '../open.ts'
import { brief, type Output, table, visible } from '../output.ts'

export const sweep = command({
  name: 'sweep',
  summary: 'Pushes the hints that are missing, now instead of at the next sweep',
  about: 'Runs the pending queries of your app. --dry-run pushes nothing and changes nothing.',
  args: {
    job: { type: 'positional', required: false, description: 'The job to sweep' },
    all: { type: 'boolean', description: 'Sweep every job of the app' },
    'dry-run': { type: 'boolean', description: 'Only say what a sweep would do' },
    ...appArgs,
  },
  examples: [
    ['regrow sweep database.create', ''],
    ['regrow sweep --all --dry-run', 'how much is pending, and what would be pushed'],
  ],
  async run(args, cli) {
    const { job } = args
    if (job === undefined && !args.all) throw usage('Which job?', 'Name one, or give --all.')
    if (job !== undefined && args.all) throw usage(`Both "${job}" and --all were given`, 'Give one of them.')
    return withApp(args, cli, async ({ app }) => {
      const dryRun = args['dry-run'] === true
      const reports = await app.sweep({ dryRun, ...(job === undefined ? {} : { jobs: [job] }) })
      const { shared } = await app.queue()
      cli.out.result({ sweeps: reports }, () => describe(reports, dryRun, cli.out.color))
      if (!dryRun && !shared)
        cli.out.note('The queue is in memory and ends with this process; the sweep is due again for the next worker.')
      return reports.some(({ error }) => error !== null) ? 1 : 0
    })
  },
})

function describe(reports: readonly SweepReport[], dryRun: boolean, color: Output['color']): string {
  if (reports.length === 0) return 'The app declares no jobs.'
  const rows = reports.map(({ job, seen, eligible, held, pushed, tookMs }) => [
    job,
    String(seen),
    String(eligible),
    String(held),
    String(pushed),
    readable(tookMs),
  ])
  const headings = ['job', 'seen', 'eligible', 'held', dryRun ? 'would push' : 'pushed', 'took']
  const notes = reports.flatMap(({ job, error, finished, paused, keys }) => [
    ...(keys.length > 0 ? [`  ${job}: ${keys.map(visible).join(', ')}`] : []),
    ...(error === null ? [] : [`${color.red('!')} ${job}: ${brief(error.replace(`Job "${job}": `, ''), 200)}`]),
    ...(error === null && !finished
      ? [`${color.yellow('!')} ${job}: the queue is full; workers go on as it drains`]
      : []),
    ...(paused ? [`${color.yellow('!')} ${job} is paused: its hints start nothing`] : []),
  ])
  return [table(color, headings, rows), ...(notes.length > 0 ? [notes.join('\n')] : [])].join('\n\n')
}
