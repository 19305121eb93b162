// regrow quarantine: what failed for good, why, and what becomes of it.
import { type QuarantineKeys, RegrowError } from '../../index.ts'
import { appArgs, command, type Group, storeArgs, usage, wholeNumber } from '../command.ts'
import { withStore } from '../open.ts'
import { brief, table, visible } from '../output.ts'

const where = { ...storeArgs, ...appArgs }
const job = { type: 'positional', required: true, description: 'The job' } as const
const all = { type: 'boolean', description: 'Every quarantined key of the job' } as const

const list = command({
  name: 'quarantine list',
  summary: 'Lists keys that failed for good, by job and key',
  args: {
    job: { type: 'string', valueHint: 'name', description: 'Only of this job' },
    limit: { type: 'string', valueHint: 'n', description: 'Keys per page, 1,000 at most. Defaults to 100' },
    after: { type: 'string', valueHint: 'cursor', description: 'The next page; the page before names it' },
    ...where,
  },
  examples: [
    ['regrow quarantine list', ''],
    ['regrow quarantine list --job email.welcome --limit 20', ''],
  ],
  async run(args, cli) {
    const limit = wholeNumber(args.limit, 'limit', 1)
    const { job: name, after } = args
    const choice = { ...(name ? { job: name } : {}), ...(after ? { after } : {}), ...(limit ? { limit } : {}) }
    return withStore(args, cli, async ({ app }) => {
      const { keys, next } = await app.quarantine.list(choice)
      cli.out.result({ keys, next }, () => {
        if (keys.length === 0) return 'Nothing is in quarantine.'
        const rows = keys.map((each) => [
          each.job,
          visible(each.key),
          String(each.failures),
          String(each.crashes),
          each.since.toISOString().slice(0, 19).replace('T', ' '),
          brief(each.error),
        ])
        const lines = table(cli.out.color, ['job', 'key', 'failures', 'crashes', 'since (UTC)', 'error'], rows)
        return next === null ? lines : `${lines}\n\nMore: add --after ${next}`
      })
      return 0
    })
  },
})

const show = command({
  name: 'quarantine show',
  summary: 'Shows one key with its whole error, and its intent',
  args: {
    job,
    key: { type: 'positional', required: true, description: 'The key, as `quarantine list` shows it' },
    ...where,
  },
  examples: [['regrow quarantine show database.create 42', '']],
  run: (args, cli) =>
    withStore(args, cli, async ({ app }) => {
      const found = await app.quarantine.show(args.job, args.key)
      if (!found) throw notThere(args.job, args.key)
      cli.out.result(found, () => {
        const { color } = cli.out
        const facts = [
          ['job', found.job],
          ['key', visible(found.key)],
          ...(found.version === null ? [] : [['version', visible(found.version)]]),
          ['since', found.since.toISOString()],
          ['failures', String(found.failures)],
          ['crashes', String(found.crashes)],
          ...(found.intent
            ? [
                ['stored', found.intent.createdAt.toISOString()],
                ['input', visible(found.intent.input)],
              ]
            : []),
        ]
        const lines = facts.map(([name, value]) => `${color.dim((name as string).padEnd(8))}  ${value}`)
        const error = (found.error ?? 'no error was recorded').split('\n').map(visible).join('\n')
        return `${lines.join('\n')}\n\n${error}`
      })
      return 0
    }),
})

const release = command({
  name: 'quarantine release',
  summary: 'Makes keys new: their failures are forgotten, and they run at once',
  args: { job, ...where, all },
  rest: 'key',
  examples: [
    ['regrow quarantine release database.create 42 43', ''],
    ['regrow quarantine release email.welcome --all', 'after the cause is mended'],
  ],
  run: (args, cli) =>
    withStore(args, cli, async ({ app }) => {
      const keys = keysOf(args._, args.all === true)
      const { released, missing } = await app.quarantine.release(args.job, keys, { author: cli.around.author })
      cli.out.result({ job: args.job, released, missing }, () => told('Released', args.job, released, missing))
      return missing.length > 0 ? 1 : 0
    }),
})

const drop = command({
  name: 'quarantine drop',
  summary: 'Deletes quarantined intents for good: they never run',
  about:
    'Only work that was enqueued as an input can be dropped. Where the work is a row of your own, change the row so that\nthe pending query no longer returns it, then release the key.',
  args: { job, ...where, all, yes: { type: 'boolean', description: 'Yes, all of them: needed with --all' } },
  rest: 'key',
  examples: [['regrow quarantine drop email.welcome 0190c2f4-5f0e-7c6a-9d3b-2f1e8a7b6c5d', '']],
  async run(args, cli) {
    const keys = keysOf(args._, args.all === true)
    if (args.all && !args.yes)
      throw usage('--all drops every quarantined intent of the job', 'Add --yes if that is meant.')
    return withStore(args, cli, async ({ app }) => {
      const { dropped, missing } = await app.quarantine.drop(args.job, keys, { author: cli.around.author })
      cli.out.result({ job: args.job, dropped, missing }, () => told('Dropped', args.job, dropped, missing))
      return missing.length > 0 ? 1 : 0
    })
  },
})

/** Positionals after the job. */
function keysOf([, ...keys]: readonly string[], everything: boolean): QuarantineKeys {
  if (keys.length > 0 && everything) throw usage('Both keys and --all were given', 'Give one of them.')
  if (keys.length === 0 && !everything) throw usage('Which keys?', 'Name them, or give --all.')
  return everything ? { all: true } : keys
}

function told(verb: string, name: string, done: readonly string[], missing: readonly string[]): string {
  const count = `${verb} ${done.length} ${done.length === 1 ? 'key' : 'keys'} of ${name}.`
  return missing.length === 0
    ? count
    : `${count} Not in quarantine (write keys as \`quarantine list\` prints them): ${missing.map(visible).join(', ')}`
}

const notThere = (name: string, key: string) =>
  new RegrowError(
    'not_quarantined',
    `The key ${visible(key)} of "${name}" is not in quarantine`,
    `regrow quarantine list --job ${name} shows what is.`,
  )

export const quarantine: Group = {
  kind: 'group',
  name: 'quarantine',
  summary: 'Lists, shows, releases and drops what failed for good',
  about: undefined,
  examples: [],
  commands: { list, show, release, drop },
}
