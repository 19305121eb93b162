// regrow quarantine: what failed for good, why, and what becomes of it.

import { RegrowError } from '../../index.ts'
import { type ErrorGroup, operate, type QuarantinedKey } from '../../operate/index.ts'
import { command, exitCodes, type Group, wholeNumber } from '../command.ts'
import { withStore } from '../open.ts'
import { brief, type Output, table, visible } from '../output.ts'
import { type Long, showingProgress } from '../progress.ts'
import { filterArgs, filterOf, where } from '../quarantine-args.ts'
import { drop, release } from './quarantine-act.ts'

const list = command({
  name: 'quarantine list',
  summary: 'Lists keys that failed for good, by job and key',
  args: {
    job: { type: 'string', valueHint: 'name', description: 'Only of this job' },
    ...filterArgs,
    limit: { type: 'string', valueHint: 'n', description: 'Keys per page, 1,000 at most. Defaults to 100' },
    after: { type: 'string', valueHint: 'cursor', description: 'The next page; the page before names it' },
    all: { type: 'boolean', description: 'All pages at once' },
    ...where,
  },
  examples: [
    ['regrow quarantine list', ''],
    ['regrow quarantine list --job email.welcome --limit 20', ''],
    ["regrow quarantine list --error 'connection refused' --since 2h", 'what failed so in the last two hours'],
  ],
  async run(args, cli) {
    const limit = wholeNumber(args.limit, 'limit', 1)
    const { job: name, after } = args
    const choice = { ...(name ? { job: name } : {}), ...filterOf(args) }
    const page = { ...(after ? { after } : {}), ...(limit ? { limit } : {}) }
    return withStore(args, cli, async ({ app }) => {
      const every = async ({ onProgress, signal }: Long) => {
        const total = (await operate(app).quarantine.count(choice)).reduce((sum, { count }) => sum + count, 0)
        const keys: QuarantinedKey[] = []
        let next: string | null = after ?? ''
        while (next !== null && !signal.aborted) {
          const found = await operate(app).quarantine.list({
            ...choice,
            limit: 1_000,
            ...(next ? { after: next } : {}),
          })
          keys.push(...found.keys)
          next = found.next
          onProgress({ what: 'quarantine', done: keys.length, total })
        }
        return { keys, next }
      }
      const once = () => operate(app).quarantine.list({ ...choice, ...page })
      const { value, stopped } = args.all ? await showingProgress(cli, every) : { value: await once(), stopped: false }
      cli.out.result(value, () => listText(value, isFiltered(args), cli.out.color))
      return stopped ? exitCodes.stopped : exitCodes.fine
    })
  },
})

function listText(
  { keys, next }: { keys: readonly QuarantinedKey[]; next: string | null },
  filtered: boolean,
  color: Output['color'],
): string {
  if (keys.length === 0) return nothing(filtered)
  const rows = keys.map((each) => [
    each.job,
    each.key,
    String(each.failures),
    String(each.crashes),
    seconds(each.since),
    brief(each.error),
  ])
  const lines = table(color, ['job', 'key', 'failures', 'crashes', 'since (UTC)', 'error'], rows)
  return next === null ? lines : `${lines}\n\nMore: add --after ${visible(next)}`
}

const errors = command({
  name: 'quarantine errors',
  summary: 'Counts what failed for good by its error',
  about:
    'Errors that differ only in numbers, ids and addresses are one line: <n>, <id> and <address> stand for these. A part of a\nline is what --error takes, in `list`, `release` and `drop`.',
  args: {
    job: { type: 'string', valueHint: 'name', description: 'Only of this job' },
    ...filterArgs,
    limit: { type: 'string', valueHint: 'n', description: 'Lines. Defaults to 100' },
    ...where,
  },
  examples: [
    ['regrow quarantine errors', ''],
    ['regrow quarantine errors --since 1h', 'since the last deploy, say'],
  ],
  async run(args, cli) {
    const limit = wholeNumber(args.limit, 'limit', 1)
    const choice = { ...(args.job ? { job: args.job } : {}), ...(limit ? { limit } : {}), ...filterOf(args) }
    return withStore(args, cli, async ({ app }) => {
      const groups = await operate(app).quarantine.errors(choice)
      cli.out.result({ errors: groups }, () => errorsText(groups, isFiltered(args), cli.out.color))
      return 0
    })
  },
})

function errorsText(groups: readonly ErrorGroup[], filtered: boolean, color: Output['color']): string {
  if (groups.length === 0) return nothing(filtered)
  const rows = groups.map(({ job, error, count, lastAt, key }) => [
    String(count),
    job,
    seconds(lastAt),
    brief(key, 40),
    error === '' ? '(none)' : brief(error, 120),
  ])
  return table(color, ['keys', 'job', 'last (UTC)', 'one of them', 'error'], rows)
}

const isFiltered = (args: Parameters<typeof filterOf>[0]) => Object.keys(filterOf(args)).length > 0

const nothing = (filtered: boolean) => (filtered ? 'Nothing that is in quarantine fits.' : 'Nothing is in quarantine.')

const seconds = (date: Date) => date.toISOString().slice(0, 19).replace('T', ' ')

const show = command({
  name: 'quarantine show',
  summary: 'Shows one key with its whole error, and its intent',
  args: {
    job: { type: 'positional', required: true, description: 'The job' },
    key: { type: 'positional', required: true, description: 'The key, as `quarantine list` shows it' },
    ...where,
  },
  examples: [['regrow quarantine show database.create 42', '']],
  run: (args, cli) =>
    withStore(args, cli, async ({ app }) => {
      const found = await operate(app).quarantine.show(args.job, args.key)
      if (!found) throw notThere(args.job, args.key)
      cli.out.result(found, () => {
        const { color } = cli.out
        const facts = [
          ['job', found.job],
          ['key', found.key],
          ...(found.version === null ? [] : [['version', found.version]]),
          ['since', found.since.toISOString()],
          ['failures', String(found.failures)],
          ['crashes', String(found.crashes)],
          ...(found.intent
            ? [
                ['stored', found.intent.createdAt.toISOString()],
                ['input', found.intent.input],
              ]
            : []),
        ]
        const lines = facts.map(
          ([name, value]) => `${color.dim((name as string).padEnd(8))}  ${visible(value as string)}`,
        )
        const error = (found.error ?? 'no error was recorded').split('\n').map(visible).join('\n')
        return `${lines.join('\n')}\n\n${error}`
      })
      return 0
    }),
})

const notThere = (name: string, key: string) =>
  new RegrowError(
    'not_quarantined',
    `The key ${visible(key)} of "${name}" is not in quarantine`,
    `regrow quarantine list --job ${name} shows what is.`,
  )

export const quarantine: Group = {
  kind: 'group',
  name: 'quarantine',
  summary: 'Lists, counts, shows, releases and drops what failed for good',
  about: undefined,
  examples: [],
  commands: { list, errors, show, release, drop },
}
