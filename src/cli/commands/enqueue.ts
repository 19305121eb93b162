// regrow enqueue: one key or one input, by the name of its job.

import { nearest } from '../../base/suggest.ts'
import type { EnqueueResult } from '../../index.ts'
import { type DeclaredJob, operate } from '../../operate/index.ts'
import { appArgs, command, usage } from '../command.ts'
import { failureOf } from '../failure.ts'
import { withApp } from '../open.ts'
import { visible } from '../output.ts'

export const enqueue = command({
  name: 'enqueue',
  summary: 'Enqueues one key, or stores and enqueues one input',
  about:
    'A `pending` job takes a key (a composite key as a JSON object): it runs if its row is pending. An `input` job takes\nits input as JSON.',
  args: {
    job: { type: 'positional', required: true, description: 'The job' },
    item: { type: 'positional', required: true, description: 'A key, or an input as JSON' },
    in: {
      type: 'string',
      valueHint: 'duration',
      description: 'Not before so long from now, as in 10m; input jobs only',
    },
    at: {
      type: 'string',
      valueHint: 'time',
      description: 'Not before this instant, as in 2030-01-31T08:00:00Z; input jobs only',
    },
    jitter: { type: 'string', valueHint: 'duration', description: 'Some time within 30m, or between two: 5m..30m' },
    ...appArgs,
  },
  examples: [
    ['regrow enqueue database.create 9b2d0c9e-0d6c-4f0b-8f43-5e2a3c1d7a10', ''],
    [`regrow enqueue email.welcome '{"to":"ann@example.org"}' --in 10m`, ''],
    ['regrow enqueue account.close -- -5', 'a key that begins with a minus'],
  ],
  run: (args, cli) =>
    withApp(args, cli, async ({ app }) => {
      const jobs = operate(app).jobs()
      const job = jobs.find(({ name }) => name === args.job)
      if (!job) throw unknown(args.job, jobs)
      const options = { ...when(args), ...jitter(args.jitter) }
      let why = ''
      app.on('hint.dropped', ({ error }) => {
        why = error ? `: ${failureOf(error).message}` : ''
      })
      const result = await job.enqueue(itemOf(job, args.item), options)
      cli.out.result({ job: job.name, ...result }, () => `${job.name} ${visible(result.key)}: ${texts[result.status]}`)
      const dropped = result.status === 'dropped'
      if (dropped) cli.out.note(`The queue did not take the hint${why}. The work is safe: a sweep finds it.`)
      else if (!(await operate(app).queue()).shared)
        cli.out.note('The queue is in memory and ends with this process: a worker finds the work at its next sweep.')
      return dropped ? 1 : 0
    }),
})

/** A text is taken as it is; what has several parts comes as JSON. */
function itemOf({ name, kind, key }: DeclaredJob, text: string): unknown {
  if (kind === 'pending' && typeof key === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    const example = kind === 'input' ? `'{"to":"ann@example.org"}'` : `'${JSON.stringify(key)}'`
    throw usage(`"${name}" takes JSON, and this is none: ${visible(text.slice(0, 60))}`, `Write it as in ${example}.`)
  }
}

function when({ in: delay, at }: { in?: string | undefined; at?: string | undefined }): object {
  if (at === undefined) return delay === undefined ? {} : { in: delay }
  const date = new Date(at)
  // A bare date or a time without a zone means another instant on another machine.
  if (Number.isNaN(date.getTime()) || !/T.*(Z|[+-]\d\d:?\d\d)$/i.test(at))
    throw usage(`--at is "${at}"`, 'Write date, time and zone: 2030-01-31T08:00:00Z or 2030-01-31T09:00:00+01:00.')
  return { at: date, ...(delay === undefined ? {} : { in: delay }) }
}

function jitter(text: string | undefined): object {
  if (text === undefined) return {}
  const [from, to] = text.split('..')
  return { jitter: to === undefined ? from : [from, to] }
}

function unknown(name: string, jobs: readonly DeclaredJob[]) {
  const known = jobs.map((each) => each.name)
  const guess = nearest(name, known)
  return usage(
    `The app has no job "${name}"`,
    guess ? `Did you mean "${guess}"?` : `It has: ${known.join(', ') || 'none'}`,
  )
}

const texts: Record<EnqueueResult['status'], string> = {
  added: 'enqueued',
  merged: 'was enqueued already',
  dropped: 'not hinted',
  held: 'stored; the job is paused, it runs when it is resumed',
}
