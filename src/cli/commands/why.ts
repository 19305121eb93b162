// regrow why: why one key does not run, what comes next, and what to type.
import { readable } from '../../base/duration.ts'
import { operate, type Why, type WhyFacts } from '../../operate/index.ts'
import { appArgs, command } from '../command.ts'
import { withApp as open } from '../open.ts'
import { brief, type Output, relative, visible } from '../output.ts'

export const why = command({
  name: 'why',
  summary: 'Says why a key does not run, what comes next, and what to type',
  about:
    'Asks the pending query of your app for this key, the ledger, and the queue; changes nothing. Where the query is one\ntable with conditions, it names the condition that the row fails. The first word is a stable code: docs/why.md has them all.',
  args: {
    job: { type: 'positional', required: true, description: 'The job' },
    key: {
      type: 'positional',
      required: true,
      description: 'The key, as lists print it; a composite one as a JSON array or object, an intent by its id',
    },
    ...appArgs,
  },
  examples: [
    ['regrow why database.create 9b2d0c9e-0d6c-4f0b-8f43-5e2a3c1d7a10', ''],
    [`regrow why seat.assign '["12","A"]'`, 'a composite key, as `quarantine list` prints it'],
    ['regrow why account.close -- -5', 'a key that begins with a minus'],
  ],
  run: (args, cli) =>
    open(args, cli, async ({ app }) => {
      const found = await operate(app).why(args.job, args.key)
      cli.out.result(found, () => whyText(found, args.app, cli.out.color))
      return 0
    }),
})

function whyText(found: Why, app: string | undefined, color: Output['color']): string {
  const { job, key, reason, sentence, also, next, nextAt, facts } = found
  const commands = found.commands.map(({ line, does }) => ({ line: visible(withApp(line, app)), does }))
  const width = Math.max(0, ...commands.map(({ line }) => line.length))
  const when = nextAt && nextAt > facts.at ? ` (${instant(nextAt)})` : ''
  return [
    `${visible(job)} ${visible(key)}: ${color.bold(reason)}`,
    visible(sentence),
    ...also.map((other) => `Besides, ${other.reason}: ${visible(other.sentence)}`),
    `Next: ${visible(next)}${when}`,
    ...(commands.length > 0 ? ['', 'What to type:'] : []),
    ...commands.map(({ line, does }) => `  ${line.padEnd(width)}  ${color.dim(does)}`),
    '',
    ...factLines(facts).map(([name, text]) => `${color.dim(name.padEnd(9))}${visible(text)}`),
  ].join('\n')
}

/** As it is to be typed by who named the app on this command line; flags stand before `--`. */
function withApp(line: string, app: string | undefined): string {
  if (app === undefined) return line
  const flag = ` --app ${/^[\w./@-]+$/.test(app) ? app : `'${app.replaceAll("'", `'\\''`)}'`}`
  return line.includes(' -- ') ? line.replace(' -- ', `${flag} -- `) : `${line}${flag}`
}

/** What the answer stands on, a line each. */
function factLines(facts: WhyFacts): [string, string][] {
  const { at, pending, ledger, intent, hint, queue, dueHints, pause, sweep, workers, concurrency, running } = facts
  const due = dueHints === null ? '' : `; ${dueHints} of the job are due`
  return [
    ['pending', pendingText(pending)],
    ...(intent
      ? [
          [
            'intent',
            `stored ${relative(intent.createdAt, at)}${intent.runAt ? `, for ${instant(intent.runAt)}` : ''}`,
          ] as [string, string],
        ]
      : []),
    ['ledger', ledger ? ledgerText(ledger, at) : 'nothing remembered'],
    [
      'hint',
      queue.down
        ? `the queue (${queue.name}) does not answer`
        : hint === 'unknown'
          ? `cannot be seen in the queue (${queue.name})${due}`
          : hint === null
            ? `none${due}`
            : `${hint.fresh ? 'fresh' : 'swept'}, ${hint.dueInMs > 0 ? `due in ${readable(hint.dueInMs)}` : 'due'}${due}`,
    ],
    ['workers', `${workers.able} with the handler, of ${workers.live} that live`],
    ...(concurrency === null
      ? []
      : [['slots', `${concurrency * workers.able} of the job; ${running} of its keys run now`] as [string, string]]),
    ['sweep', sweepText(sweep, at)],
    ...(pause ? [['pause', `since ${relative(pause.since, at)}`] as [string, string]] : []),
  ]
}

function pendingText(pending: WhyFacts['pending']): string {
  if (pending.state === 'broken') return 'the query cannot be asked'
  if (pending.state === 'not') return 'no'
  const version = pending.version === null ? '' : `, version ${pending.version}`
  return pending.waitMs > 0 ? `in ${readable(pending.waitMs)}${version}` : `yes${version}`
}

function ledgerText(ledger: NonNullable<WhyFacts['ledger']>, at: Date): string {
  const holder = ledger.claim?.worker ? `, held by ${ledger.claim.worker.host}, pid ${ledger.claim.worker.pid}` : ''
  const retry = ledger.retryAt && ledger.retryAt > at ? `, not before ${instant(ledger.retryAt)}` : ''
  const error = ledger.error ? `; ${brief(ledger.error, 100)}` : ''
  return `${ledger.state}, ${ledger.failures} failures, ${ledger.crashes} crashes${holder}${retry}${error}`
}

function sweepText(sweep: WhyFacts['sweep'], at: Date): string {
  if (sweep === null) return 'never made: no worker has declared the job'
  const next = sweep.sweeping
    ? 'a pass is under way'
    : sweep.nextAt <= at
      ? 'due now'
      : `due ${relative(sweep.nextAt, at)}`
  const errors = sweep.errors > 0 ? `, ${sweep.errors} failed in a row` : ''
  return `last success ${relative(sweep.lastSuccessAt, at)}, ${next}${errors}`
}

const instant = (date: Date) => `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
