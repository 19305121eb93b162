// Input jobs: the intent is recorded first, then hinted. When enqueue returns, the work is certain.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Clock } from '../base/clock.ts'
import { milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import { type Random, timeOrderedUuid } from '../base/random.ts'
import type { EnqueueInputOptions } from '../job/declaration.ts'
import { issueText } from '../job/issue-text.ts'
import type { Job } from '../job/job.ts'
import type { IntentRow } from '../store/intents.ts'

const inputBytesMax = 256 * 1024

/** Validated intents, ready to be written; throws before anything is stored. */
export async function intentsOf(
  ports: { clock: Clock; random: Random },
  job: Job,
  inputs: readonly unknown[],
  options: EnqueueInputOptions,
): Promise<IntentRow[]> {
  if (options.in !== undefined && options.at !== undefined)
    throw new RegrowError('bad_options', 'Both `in` and `at` were given', 'Give one of them.')
  const inMs = options.in === undefined ? 0 : milliseconds(options.in, '`in`')
  const atMs = options.at === undefined ? null : instant(options.at)
  const rows: IntentRow[] = []
  for (const input of inputs) {
    const id = options.id === undefined ? timeOrderedUuid(ports.random, ports.clock.wall()) : job.key.encode(options.id)
    rows.push({ id, input: await jsonOf(job, input), inMs, atMs, uniqueKey: options.unique ?? null })
  }
  return rows
}

function instant(at: Date): number {
  if (at instanceof Date && !Number.isNaN(at.getTime())) return at.getTime()
  throw new RegrowError('bad_options', `\`at\` is ${String(at)}`, 'Give a Date.')
}

/** The input as it was given (the schema is applied again when it runs), after the schema accepted it. */
async function jsonOf(job: Job, input: unknown): Promise<string> {
  const schema = job.input as StandardSchemaV1
  const result = await schema['~standard'].validate(input)
  if (result.issues)
    throw new RegrowError(
      'bad_input',
      `The input of "${job.name}" does not fit its schema: ${result.issues.map(issueText).join('; ')}`,
      'Nothing was stored. Mend the input, or the schema.',
    )
  const json = JSON.stringify(input) ?? 'null'
  const bytes = Buffer.byteLength(json)
  if (bytes > inputBytesMax)
    throw new RegrowError(
      'input_too_long',
      `An input may have ${inputBytesMax} bytes as JSON, this one of "${job.name}" has ${bytes}`,
      'Store the data in a table or a bucket, and pass its id.',
    )
  if (json.includes('\\u0000'))
    throw new RegrowError(
      'bad_input',
      `The input of "${job.name}" holds a NUL character`,
      'Postgres cannot store it in JSON. Remove it.',
    )
  return json
}
