// What `regrow work` and `regrow drain` have in common: how many calls at a time, and of which jobs.
import { nearest } from '../base/suggest.ts'
import { operate } from '../operate/index.ts'
import { usage, wholeNumber } from './command.ts'
import type { Opened } from './open.ts'
import { visible } from './output.ts'

export const workerArgs = {
  concurrency: { type: 'string', valueHint: 'n', description: 'Handler calls at a time. Defaults to 10' },
  only: { type: 'string', valueHint: 'job,job', description: 'Only these jobs. Defaults to all that have a handler' },
  except: { type: 'string', valueHint: 'job,job', description: 'All but these jobs' },
} as const

interface WorkerArgs {
  readonly concurrency?: string | undefined
  readonly only?: string | undefined
  readonly except?: string | undefined
}

interface Choice {
  readonly concurrency?: number
  readonly only?: string[]
  readonly except?: string[]
}

export function choiceOf(args: WorkerArgs): Choice {
  const concurrency = wholeNumber(args.concurrency, 'concurrency', 1)
  return {
    ...(concurrency ? { concurrency } : {}),
    ...(args.only === undefined ? {} : { only: names(args.only) }),
    ...(args.except === undefined ? {} : { except: names(args.except) }),
  }
}

/** Throws where there is nothing to run, or a flag names a job that this app does not run. */
export function refuseUnfit(opened: Opened, { only, except }: Choice): void {
  refuseIdle(opened)
  refuseUnknown(opened, 'only', only)
  refuseUnknown(opened, 'except', except)
}

/** Jobs of a flag, with commas between them. */
const names = (text: string): string[] => text.split(',').flatMap((name) => name.trim() || [])

/** Names of a flag as they were typed, held against the app that was named. */
function refuseUnknown({ app, handlers, from }: Opened, flag: 'only' | 'except', names: readonly string[] = []): void {
  const jobs = operate(app).jobs()
  for (const name of names) {
    const job = jobs.find((each) => each.name === name)
    if (!job) {
      const known = jobs.map((each) => each.name)
      const guess = nearest(name, known)
      throw usage(
        `--${flag} names "${name}", and ${visible(from)} declares no such job`,
        guess
          ? `Did you mean "${guess}"?`
          : `It declares: ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`,
      )
    }
    if (flag === 'only' && !job.handled && !handlers.some((each) => each.job.name === name))
      throw usage(
        `--only names "${name}", and ${visible(from)} has no handler of it`,
        'Give the job a `run`, or name the module that exports `app` and `handlers` with --app.',
      )
  }
}

/** An app without a handler has nothing to do. */
function refuseIdle({ app, handlers, from }: Opened): void {
  const bare = operate(app)
    .jobs()
    .filter(({ name, handled }) => !handled && !handlers.some(({ job }) => job.name === name))
  if (operate(app).jobs().length > bare.length) return
  throw usage(
    `${from} has ${bare.length === 0 ? 'no jobs' : 'no handlers'}`,
    bare.length === 0
      ? 'Declare one: app.job(name, { pending, run }).'
      : `Give the jobs (${bare.map(({ name }) => name).join(', ')}) a \`run\`, or name the module that exports \`app\` and \`handlers\`.`,
  )
}
