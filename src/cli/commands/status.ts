// regrow status: how every job and worker stands, and what is wrong, from regrow's tables. Once, again and again (--watch),
// or for a monitor (--check).

import { milliseconds } from '../../base/duration.ts'
import { type Health, operate } from '../../operate/index.ts'
import { appArgs, type Cli, command, exitCodes, storeArgs, usage } from '../command.ts'
import { failureOf } from '../failure.ts'
import { type Opened, withStore } from '../open.ts'
import { cut, jsonText, printable, visible } from '../output.ts'
import { checkText, healthText } from '../render/health.ts'
import { type Screen, watchText } from '../render/watch.ts'

/** It reads the ledger whole: more often is a load of its own. */
const everyMinMs = 200

export const status = command({
  name: 'status',
  summary: 'Shows how every job and worker stands, and what is wrong',
  about:
    "Reads regrow's own tables and counts hints; runs no query of yours. Lines with !! are what makes it unhealthy, those with\n! are worth a look. --check prints these alone and exits with 1 when it is unhealthy, for monitors and deploys.",
  args: {
    ...storeArgs,
    ...appArgs,
    watch: { type: 'boolean', description: 'Look again and again, until Ctrl-C' },
    every: { type: 'string', valueHint: 'duration', description: 'How often --watch looks. Defaults to 2s' },
    check: { type: 'boolean', description: 'Only say what is wrong; exit with 1 when it is unhealthy' },
  },
  examples: [
    ['regrow status --store $DATABASE_URL', ''],
    ['regrow status --watch --every 5s', 'until Ctrl-C'],
    ['regrow status --check', 'as a probe: 0 when healthy, 1 when not'],
    ["regrow status --json | jq '.jobs[] | select(.quarantined > 0) | .job'", 'jobs with quarantined keys'],
  ],
  async run(args, cli) {
    if (args.every !== undefined && !args.watch)
      throw usage('--every was given without --watch', 'It says how often --watch looks: add --watch, or leave it out.')
    const everyMs = milliseconds(args.every ?? '2s', '--every')
    if (everyMs < everyMinMs) throw usage(`--every is "${args.every}"`, `Give ${everyMinMs}ms or more.`)
    const check = args.check === true
    return withStore(args, cli, (opened) =>
      args.watch ? watch(opened, cli, everyMs, watched(check)) : once(opened, cli, check ? checked : whole),
    )
  },
})

/** What is shown of a look, and the exit code that it means. */
type View = (health: Health, from: string, cli: Cli) => { text: () => string; code: number }

const whole: View = (health, from, { out, around }) => ({
  text: () => healthText(health, from, out.color, around.screen()?.columns),
  code: exitCodes.fine,
})

const checked: View = (health, from, { out }) => ({
  text: () => checkText(health, from, out.color),
  code: health.healthy ? exitCodes.fine : exitCodes.failed,
})

/** On a terminal what fits it; elsewhere everything, under the time. */
const watched =
  (check: boolean): View =>
  (health, from, cli) => {
    const { text, code } = (check ? checked : whole)(health, from, cli)
    const screen = check ? undefined : cli.around.screen()
    const timed = () => `${health.at.toISOString()}\n${text()}`
    return { text: screen ? () => watchText(health, from, cli.out.color, screen) : timed, code }
  }

async function once({ app, from }: Opened, cli: Cli, view: View): Promise<number> {
  const health = await operate(app).health()
  const { text, code } = view(health, from, cli)
  cli.out.result({ store: from, ...health }, text)
  return code
}

/** Looks until a signal comes; the exit code is that of the last look. A store that goes away is told, and waited for. */
async function watch({ app, from }: Opened, cli: Cli, everyMs: number, view: View): Promise<number> {
  const { around, out } = cli
  let ended = false
  const stopped = new Promise<undefined>((resolve) =>
    around.onSignal(['SIGINT', 'SIGTERM'], () => {
      ended = true
      resolve(undefined)
    }),
  )
  let code: number = exitCodes.fine
  for (let first = true; !ended; first = false) {
    const seen = await Promise.race([
      operate(app)
        .health()
        .catch((error: unknown) => ({ error })),
      stopped,
    ])
    if (seen === undefined) break
    if ('error' in seen) {
      // An address that is wrong from the start is a mistake, not an outage.
      if (first) throw seen.error
      const failure = failureOf(seen.error)
      code = exitCodes.failed
      draw(cli, { error: failure }, `regrow: ${visible(failure.message)}\n  → ${visible(failure.hint)}`)
    } else {
      const shown = view(seen, from, cli)
      code = shown.code
      draw(cli, { store: from, ...seen }, out.json ? '' : shown.text())
    }
    await Promise.race([around.sleep(everyMs), stopped])
  }
  return code
}

/** A terminal is drawn over; elsewhere each look is a block of its own, or one line of JSON. */
function draw({ around, out }: Cli, document: object, text: string): void {
  const screen = around.screen()
  const shown = printable(text, around.color)
  if (out.json) around.write(`${jsonText(document)}\n`)
  else around.write(screen ? overdrawn(shown, screen) : `${shown}\n\n`)
}

/**
 * From the top left corner, in one write; each line, and what is below, is cleared as it is written: nothing flickers. A line
 * that is too long would wrap, and push the first ones out.
 */
function overdrawn(text: string, { columns, rows }: Screen): string {
  const lines = text.split('\n')
  const fitting = lines.length < rows ? lines : [...lines.slice(0, rows - 2), '…']
  return `\u001b[H${fitting.map((line) => `${cut(line, columns)}\u001b[K\n`).join('')}\u001b[J`
}
