// regrow quarantine release and drop: by key, all of a job, or all that a filter finds. What concerns many is counted first,
// and wants a yes.

import type { App } from '../../index.ts'
import { type ActOptions, operate, type ProgressOptions, type QuarantineKeys } from '../../operate/index.ts'
import { type Cli, command, exitCodes, usage } from '../command.ts'
import { confirm } from '../confirm.ts'
import { withStore } from '../open.ts'
import { visible } from '../output.ts'
import { showingProgress } from '../progress.ts'
import { filterArgs, filterOf, where } from '../quarantine-args.ts'

const args = {
  job: { type: 'string', valueHint: 'name', description: 'The job, in place of the first word' },
  all: { type: 'boolean', description: 'Every quarantined key of the job' },
  ...filterArgs,
  yes: { type: 'boolean', description: 'Yes, all that is found: asked for at a terminal, needed elsewhere' },
  ...where,
} as const

export const release = command({
  name: 'quarantine release',
  summary: 'Makes quarantined keys new: they are tried again at once',
  about:
    'Names keys, or gives --all, or a filter: then what is found is counted first, and it wants a yes. Without a job a filter\nlooks in all of them. Of more than 1,000 keys the first are hinted at once; the sweep brings the others, slowly at first.',
  args,
  rest: 'job key',
  examples: [
    ['regrow quarantine release database.create 42 43', ''],
    ['regrow quarantine release email.welcome --all --yes', 'when the cause is mended'],
    ["regrow quarantine release --error 'connection refused' --since 2h --yes", 'of all jobs'],
  ],
  run: (given, cli) =>
    act(given, cli, { verb: 'release', past: 'released' }, async (app, job, keys, options) => {
      const { count, released, missing } = await operate(app).quarantine.release(job, keys, options)
      return { count, keys: released, missing }
    }),
})

export const drop = command({
  name: 'quarantine drop',
  summary: 'Deletes quarantined intents for good: they never run',
  about:
    'Only work that was enqueued as an input can be dropped. Where the work is a row of your own, change the row so that\nthe pending query no longer returns it, then release the key.',
  args,
  rest: 'job key',
  examples: [
    ['regrow quarantine drop email.welcome 0190c2f4-5f0e-7c6a-9d3b-2f1e8a7b6c5d', ''],
    ["regrow quarantine drop email.welcome --error 'no such address' --yes", ''],
  ],
  run: (given, cli) =>
    act(given, cli, { verb: 'drop', past: 'dropped' }, async (app, job, keys, options) => {
      const { count, dropped, missing } = await operate(app).quarantine.drop(job, keys, options)
      return { count, keys: dropped, missing }
    }),
})

interface Acted {
  readonly count: number
  readonly keys: readonly string[]
  readonly missing: readonly string[]
}

interface Words {
  readonly verb: 'release' | 'drop'
  readonly past: 'released' | 'dropped'
}

type ActOn = (app: App, job: string, keys: QuarantineKeys, options: ActOptions & ProgressOptions) => Promise<Acted>

interface Given {
  readonly _: readonly string[]
  readonly job?: string | undefined
  readonly all?: boolean | undefined
  readonly yes?: boolean | undefined
  readonly error?: string | undefined
  readonly since?: string | undefined
  readonly before?: string | undefined
  readonly version?: string | undefined
  readonly store?: string | undefined
  readonly app?: string | undefined
}

async function act(given: Given, cli: Cli, words: Words, actOn: ActOn): Promise<number> {
  const [job, ...keys] = given.job === undefined ? given._ : [given.job, ...given._]
  const filter = filterOf(given)
  const filtered = Object.keys(filter).length > 0
  if (keys.length > 0 && (given.all || filtered))
    throw usage(`Both keys and ${given.all ? '--all' : 'a filter'} were given`, 'Give one of them.')
  if (keys.length === 0 && !given.all && !filtered)
    throw usage('Which keys?', 'Name the job and its keys; or give --all, or a filter such as --error.')
  // What can be dropped is the intents of one job; of others a filter may find rows of the user's.
  if (job === undefined && (!filtered || words.verb === 'drop'))
    throw usage('Which job?', 'Name it before the keys, or with --job.')
  if (given.all && !filtered && !given.yes && (!cli.around.interactive || cli.out.json))
    throw usage(
      `--all ${words.verb}s every quarantined ${words.verb === 'drop' ? 'intent' : 'key'} of the job`,
      'Add --yes if that is meant.',
    )
  return withStore(given, cli, async ({ app }) => {
    if (keys.length > 0 && job !== undefined) return byKey(app, cli, words, job, keys, actOn)
    const counts = await operate(app).quarantine.count({ ...(job === undefined ? {} : { job }), ...filter })
    const total = counts.reduce((sum, { count }) => sum + count, 0)
    if (total > 0) await confirm(cli, given.yes === true, question(words, counts, total))
    return ofMany(app, cli, words, { job, counts, keys: filtered ? { where: filter } : { all: true } }, actOn)
  })
}

async function byKey(app: App, cli: Cli, words: Words, job: string, keys: readonly string[], actOn: ActOn) {
  const { author } = cli.around
  const { value, stopped } = await showingProgress(cli, (long) => actOn(app, job, keys, { author, ...long }))
  const { count, missing } = value
  cli.out.result({ job, count, [words.past]: value.keys, missing }, () => {
    const done = `${capital(words.past)} ${keysOf(count)} of ${visible(job)}.`
    return missing.length === 0
      ? done
      : `${done} Not in quarantine (write keys as \`quarantine list\` prints them): ${missing.map(visible).join(', ')}`
  })
  return stopped ? exitCodes.stopped : missing.length > 0 ? exitCodes.failed : exitCodes.fine
}

interface Found {
  readonly job: string | undefined
  readonly counts: readonly { readonly job: string; readonly count: number }[]
  readonly keys: QuarantineKeys
}

/** One job after the other; a signal ends it at the next page, and what was done until then is told. */
async function ofMany(app: App, cli: Cli, words: Words, { job, counts, keys }: Found, actOn: ActOn): Promise<number> {
  const { author } = cli.around
  const done: ({ readonly job: string } & Acted)[] = []
  const { stopped } = await showingProgress(cli, async (long) => {
    for (const each of counts) {
      if (long.signal.aborted) break
      done.push({ job: each.job, ...(await actOn(app, each.job, keys, { author, ...long })) })
    }
  })
  const count = done.reduce((sum, each) => sum + each.count, 0)
  const jobs = done.map((each) => ({ job: each.job, count: each.count, [words.past]: each.keys }))
  const only = { [words.past]: done[0]?.keys ?? [], missing: [] }
  cli.out.result(job === undefined ? { count, jobs, stopped } : { job, count, ...only, stopped }, () =>
    [
      ...(count === 0 ? [nothingFits(keys)] : []),
      ...done
        .filter((each) => each.count > 0)
        .map((each) => `${capital(words.past)} ${keysOf(each.count)} of ${visible(each.job)}.`),
      ...(words.verb === 'release' && done.some((each) => each.count > 1_000)
        ? ['The sweep brings them back, slowly at first.']
        : []),
      ...(stopped ? ['Stopped before the end: the same command goes on where it left off.'] : []),
    ].join('\n'),
  )
  return stopped ? exitCodes.stopped : exitCodes.fine
}

function question({ verb }: Words, counts: Found['counts'], total: number): string {
  const named = counts.slice(0, 5).map(({ job, count }) => `${visible(job)} ${count.toLocaleString('en-US')}`)
  const list = counts.length > 5 ? [...named, `${counts.length - 5} more jobs`] : named
  return `${capital(verb)} ${keysOf(total)} (${list.join(', ')})?`
}

/** `quarantine errors` puts <n> where numbers differ. */
const nothingFits = (keys: QuarantineKeys) =>
  typeof keys === 'object' && 'where' in keys && keys.where.error?.includes('<')
    ? 'Nothing that is in quarantine fits. What `quarantine errors` prints as <n> or <id> differs from key to key: give the words around it.'
    : 'Nothing that is in quarantine fits.'

const keysOf = (count: number) => `${count.toLocaleString('en-US')} ${count === 1 ? 'key' : 'keys'}`
const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
