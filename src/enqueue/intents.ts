// Input jobs: the intent is recorded first, then hinted. When enqueue returns, the work is certain.
import type { Clock } from '../base/clock.ts'
import { milliseconds } from '../base/duration.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { type Random, uuidsInOrder } from '../base/random.ts'
import { type Answer, askSchema, isLater, issueText } from '../job/ask-schema.ts'
import type { EnqueueInputOptions } from '../job/declaration.ts'
import type { Job } from '../job/job.ts'
import { keyCodec } from '../job/key.ts'
import { storedUnique } from '../job/unique.ts'
import type { IntentRow } from '../store/intents.ts'
import { lostInJson } from './lost-in-json.ts'

const inputBytesMax = 256 * 1024

/** Inputs as JSON texts, each accepted by the job's schema; throws before anything is stored. */
export async function acceptedInputs(job: Job, inputs: Iterable<unknown>): Promise<string[]> {
  const texts: string[] = []
  for (const input of inputs) {
    const json = jsonOf(job, input)
    // Most schemas answer at once; an await for each of a million inputs would be most of the time.
    texts.push(typeof json === 'string' ? json : await json)
  }
  return texts
}

/** Makes the rows of `count` inputs, one after the other: those of a page while the one before is written. */
export function intentsOf(
  ports: { clock: Clock; random: Random },
  job: Job,
  count: number,
  options: EnqueueInputOptions,
): (input: string) => IntentRow {
  if (options.in !== undefined && options.at !== undefined)
    throw new RegrowError('bad_options', 'Both `in` and `at` were given', 'Give one of them.')
  if (count > 1 && (options.id !== undefined || options.unique !== undefined))
    throw new RegrowError(
      'bad_options',
      `\`id\` or \`unique\` was given for ${count} inputs: all but one would be lost`,
      'Nothing was stored. Enqueue them one by one.',
    )
  const inMs = options.in === undefined ? 0 : milliseconds(options.in, '`in`')
  const atMs = options.at === undefined ? null : instant(options.at)
  const uniqueKey = options.unique === undefined ? null : storedUnique(keyCodec('text').encode(options.unique))
  const idIsNew = options.id === undefined
  const given = idIsNew ? '' : job.key.encode(options.id)
  const newId = uuidsInOrder(ports.random)
  const untilStart = uniqueKey !== null && job.uniqueUntil === 'start'
  return (input) => ({
    id: idIsNew ? newId(ports.clock.wall()) : given,
    input,
    inMs,
    atMs,
    uniqueKey,
    untilStart,
    idIsNew,
  })
}

/**
 * Rows of one statement, at most, and the length of their inputs: what a server is asked to take apart at a time. Each page waits for the
 * disk: with 1,000 rows each, all of them took a fifth longer.
 */
const page = { rows: 5_000, inputs: 4 * 1024 * 1024 }

/** How many of `items`, from the one at `from` on, fit into one statement. */
export function rowsThatFit<Item>(items: readonly Item[], from: number, inputOf: (item: Item) => string): number {
  const most = Math.min(items.length - from, page.rows)
  let length = 0
  for (let count = 0; count < most; count++) {
    length += inputOf(items[from + count] as Item).length
    if (length > page.inputs) return Math.max(1, count)
  }
  return most
}

/** The id is that of another job's intent, and this one was not stored. */
export const idInUse = (job: string, id: string, usedBy: string): RegrowError =>
  new RegrowError(
    'id_in_use',
    `The id ${id} belongs to an intent of "${usedBy}"`,
    `Nothing was stored under it for "${job}". An id names one piece of work: give another one, or none.`,
  )

/** The years 1 and 9999. What lies outside is cut to these: a Date reaches further back than Postgres does. */
const instants = { first: Date.parse('0001-01-01T00:00Z'), last: Date.parse('9999-01-01T00:00Z') }

function instant(at: Date): number {
  if (at instanceof Date && !Number.isNaN(at.getTime()))
    return Math.min(Math.max(at.getTime(), instants.first), instants.last)
  throw new RegrowError('bad_options', `\`at\` is ${String(at)}`, 'Give a Date.')
}

/** The input as JSON text, after the schema accepted what will be read back: it is applied again when the intent runs. */
function jsonOf(job: Job, input: unknown): string | Promise<string> {
  const json = stringified(job, input)
  // A character has three bytes at most.
  const bytes = json.length * 3 > inputBytesMax ? Buffer.byteLength(json) : 0
  if (bytes > inputBytesMax)
    throw new RegrowError(
      'input_too_long',
      `An input may have ${inputBytesMax} bytes as JSON, this one of "${job.name}" has ${bytes}`,
      'Store the data in a table or a bucket, and pass its id.',
    )
  const lost = lostInJson(input)
  if (lost !== undefined)
    throw badInput(
      job,
      `cannot be stored as it is: input${lost}`,
      'It is stored as JSON: pass plain objects, arrays, texts, numbers, booleans and null.',
    )
  if (json.includes('\\u') && unstorable.test(json))
    throw badInput(job, 'holds a NUL character or half of a surrogate pair', 'Postgres cannot store that. Remove it.')
  const answer = askSchema(job, JSON.parse(json))
  return isLater(answer) ? answer.then((later) => accepted(job, json, later)) : accepted(job, json, answer)
}

function accepted(job: Job, json: string, { issues }: Answer): string {
  if (!issues) return json
  throw badInput(
    job,
    `does not fit its schema: ${issues.map(issueText).join('; ')}`,
    'Mend the input, or the schema. It is stored as JSON: dates, for one, are texts there (z.coerce.date() reads them).',
  )
}

/** An escaped NUL or lone surrogate; the backslash before it is not itself escaped. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/

function stringified(job: Job, input: unknown): string {
  try {
    return JSON.stringify(input) ?? 'null'
  } catch (cause) {
    throw badInput(job, `cannot be written as JSON: ${messageOf(cause)}`, 'Pass what JSON can hold.')
  }
}

function badInput(job: Job, what: string, todo: string): RegrowError {
  return new RegrowError('bad_input', `The input of "${job.name}" ${what}`, `Nothing was stored. ${todo}`)
}
