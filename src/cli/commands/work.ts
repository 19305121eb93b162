// regrow work: a worker until a signal comes. The first one ends it gently, the second at once. With too many slots stuck
// it ends by itself, for the supervisor to start it anew.

import { milliseconds } from '../../base/duration.ts'
import type { App, Duration, WorkOptions } from '../../index.ts'
import { operate } from '../../operate/index.ts'
import { appArgs, type Cli, command, exitCodes } from '../command.ts'
import { failureOf } from '../failure.ts'
import { type Opened, withApp } from '../open.ts'
import { brief, visible } from '../output.ts'
import { choiceOf, refuseUnfit, workerArgs } from '../worker-args.ts'

/** After a second signal nobody waits longer than this for the store; nor after the first, while it was never there. */
const hurryMs = { stopping: 5_000, opening: 2_000 }
/** A handler that ignores its signal may hold a transaction, and a pool that is closed waits for all its connections. */
const farewellMs = 1_000

export const work = command({
  name: 'work',
  summary: 'Runs jobs until it is stopped',
  about:
    'Handlers are the inline `run` of each job, and what the module exports as `handlers`. SIGINT (Ctrl-C) or SIGTERM\nstops it: nothing new starts, what runs may end within the grace. A second signal ends it at once; what still ran is\ngiven back and starts again elsewhere. When half of the slots are stuck it stops by itself, with exit code 3: whatever\nsupervises it is to start it anew.',
  args: {
    ...workerArgs,
    grace: {
      type: 'string',
      valueHint: 'duration',
      description: 'How long running handlers may take to end. Defaults to 25s',
    },
    quiet: { type: 'boolean', description: 'No lines about failures on standard error' },
    ...appArgs,
  },
  examples: [
    ['regrow work', 'the app of package.json'],
    ['regrow work --app dist/worker.js --concurrency 50', ''],
    ['regrow work --only email.welcome,email.digest', 'a worker for some of the jobs'],
    ['regrow work --except report.build', 'a worker for the others'],
  ],
  async run(args, cli) {
    const grace = (args.grace ?? '25s') as Duration
    milliseconds(grace, '--grace')
    const choice = choiceOf(args)
    const serve = async (opened: Opened) => {
      refuseUnfit(opened, choice)
      cli.around.onRejection((error) =>
        cli.out.note(`regrow: a promise was rejected and nobody waited: ${brief(failureOf(error).message)}`),
      )
      const quiet = args.quiet ? { log: false as const } : {}
      return attend(opened, cli, { handlers: opened.handlers, ...choice, ...quiet }, grace)
    }
    return withApp(args, cli, serve, { farewellMs })
  },
})

/** Works until the signals have had their way, or the worker asks to be started anew. */
async function attend({ app, from }: Opened, cli: Cli, options: WorkOptions, grace: Duration): Promise<number> {
  const { around, out } = cli
  const worker = app.work(options)
  let ready = false
  let signals = 0
  let recycling = false
  let late = false
  let stopping: Promise<void> | undefined
  const stopped = new Promise<void>((resolve, reject) => {
    /** Called again, it waits for the grace no longer. */
    const stop = () => {
      const ended = worker.stop({ grace })
      // A worker that still waits for its store has nothing to give back.
      stopping ??= ready ? ended : Promise.race([ended, around.sleep(hurryMs.opening)])
      stopping.then(resolve, ready ? reject : () => resolve())
    }
    app.on('worker.recycle', ({ stuck, concurrency }) => {
      if (stopping) return
      recycling = true
      out.note(
        `${stuck} of ${concurrency} slots are stuck: their handlers did not end after their timeout. Stopping, to be restarted; what runs may take ${grace} to end`,
      )
      stop()
    })
    around.onSignal(['SIGINT', 'SIGTERM'], (signal) => {
      signals++
      if (signals === 1) out.note(`${signal}: stopping; what runs may take ${grace} to end. Once more: at once`)
      if (signals > 1 || !stopping) stop()
      // Whatever the store does: a person has said it twice.
      if (signals === 2)
        void around.sleep(hurryMs.stopping).then(() => {
          late = true
          resolve()
        })
    })
  })
  const begun = worker.ready.catch((error: unknown) => {
    // A worker that is stopped while it waits for its store never gets ready; that is no failure.
    if (!stopping) throw error
  })
  await Promise.race([begun, stopped])
  if (!stopping) {
    ready = true
    await announce(app, from, worker.jobs, cli, options.concurrency ?? 10)
  }
  await stopped
  if (signals > 1) out.note(late ? leftBehind : 'stopped at once; what still ran was given back')
  else out.note('stopped')
  return signals > 1 ? 1 : recycling && signals === 0 ? exitCodes.recycle : 0
}

const leftBehind =
  'stopped at once; the store did not answer in time, so what still ran is freed when the lease is over'

/** The one line at the start. */
async function announce(app: App, from: string, jobs: readonly string[], { around, out }: Cli, concurrency: number) {
  const { name: queue } = await operate(app).queue()
  const { pid } = around
  out.result(
    { working: { app: from, jobs, concurrency, queue, pid } },
    () =>
      `working on ${jobs.join(', ')} (${visible(from)}, queue ${visible(queue)}, ${concurrency} at a time, pid ${pid})`,
  )
}
