// regrow drain: runs what is due, and ends. For cron, scripts, and machines that are started for it.
import { milliseconds, readable } from '../../base/duration.ts'
import type { DrainOptions, DrainReport, Duration } from '../../index.ts'
import { appArgs, type Cli, command, exitCodes, wholeNumber } from '../command.ts'
import { type Opened, withApp } from '../open.ts'
import { type Output, visible } from '../output.ts'
import { choiceOf, refuseUnfit, workerArgs } from '../worker-args.ts'

export const drain = command({
  name: 'drain',
  summary: 'Runs what is due, sweeps and schedules included, and ends',
  about:
    'A worker that ends by itself when nothing is due any more. A failure is counted, and its next try left to the next drain or\nworker. SIGINT (Ctrl-C) or SIGTERM ends it like a worker, with exit code 130.',
  args: {
    for: { type: 'string', valueHint: 'duration', description: 'Begin nothing after so long. Defaults to no limit' },
    max: { type: 'string', valueHint: 'n', description: 'Keys that it starts at most. Defaults to no limit' },
    ...workerArgs,
    grace: {
      type: 'string',
      valueHint: 'duration',
      description: 'How long handlers may take that run when it is to end. Defaults to 25s',
    },
    ...appArgs,
  },
  examples: [
    ['regrow drain', 'the app of package.json, until nothing is due'],
    ['regrow drain --for 50s', 'each minute, by cron'],
    ['regrow drain --only report.build --max 100', ''],
  ],
  async run(args, cli) {
    for (const flag of ['for', 'grace'] as const)
      if (args[flag] !== undefined) milliseconds(args[flag] as Duration, `--${flag}`)
    const max = wholeNumber(args.max, 'max', 1)
    const worker = choiceOf(args)
    const choice: DrainOptions = {
      ...(max ? { max } : {}),
      ...worker,
      ...(args.for === undefined ? {} : { for: args.for as Duration }),
      ...(args.grace === undefined ? {} : { grace: args.grace as Duration }),
    }
    return withApp(args, cli, (opened) => {
      refuseUnfit(opened, worker)
      return attend(opened, cli, choice)
    })
  },
})

async function attend({ app, handlers }: Opened, cli: Cli, choice: DrainOptions): Promise<number> {
  let stopped = false
  cli.around.onSignal(['SIGINT', 'SIGTERM'], (signal) => {
    if (!stopped) cli.out.note(`${signal}: stopping; what runs may end`)
    stopped = true
    void app.close().catch(() => {})
  })
  const report = await app.drain({ ...choice, handlers })
  cli.out.result({ drained: report, stopped }, () => describe(report, cli.out.color))
  if (stopped) return exitCodes.stopped
  return report.sweepsFailed.length > 0 ? exitCodes.failed : exitCodes.fine
}

const why = {
  idle: 'nothing is due any more',
  timeout: 'its time is over; there may be more',
  max: 'it has started as many as it may; there may be more',
}

function describe(
  { runs, succeeded, failed, quarantined, sweepsFailed, ended, tookMs }: DrainReport,
  color: Output['color'],
) {
  const counts = `${runs} ${runs === 1 ? 'run' : 'runs'} in ${readable(tookMs)}: ${succeeded} succeeded, ${failed} failed, ${quarantined} in quarantine`
  const broken = sweepsFailed.map(
    (job) => `${color.red('!')} ${visible(job)}: its sweep failed. \`regrow sweep ${visible(job)} --dry-run\` says why`,
  )
  return [`${counts}; ${why[ended]}`, ...broken].join('\n')
}
