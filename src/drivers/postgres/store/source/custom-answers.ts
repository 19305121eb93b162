// What a source of the user's own answers, read with care: whatever it is, an error says what was expected, what was found and what to
// return. In: one call of `page` or `isPending`. Out: its rows, each by itself, so that one bad row stops no other.
import { durationMaxMs } from '../../../../base/duration.ts'
import { messageOf, RegrowError, read } from '../../../../base/errors.ts'
import { kindOfValue } from '../../../../base/suggest.ts'
import type { Job } from '../../../../job/job.ts'
import type { CustomPending, PendingRow } from '../../../../job/pending.ts'
import { isAway } from '../../../../store/errors.ts'
import type { PendingKey } from '../../../../store/source.ts'
import { classify, sqlState } from '../errors.ts'

/** Which function of the source answered. */
export type Asked = keyof CustomPending

const shape = '{ key, version?, runAt? }'

/** The array that a call answers. An error of a database or a connection keeps its kind; any other one does not say where it comes from. */
export async function answerOf(job: Job, asked: Asked, call: () => unknown): Promise<readonly unknown[]> {
  let answer: unknown
  try {
    answer = await call()
  } catch (error) {
    if (sqlState(error) !== undefined || isAway(error, classify)) throw error
    throw threw(job, `${asked}() of its source threw`, error)
  }
  try {
    if (Array.isArray(answer)) return [...answer]
  } catch (error) {
    throw threw(job, `the answer of ${asked}() of its source cannot be read`, error)
  }
  throw badSource(
    job,
    asked,
    `answered ${kindOfValue(answer)}, expected an array of ${shape}`,
    `Answer an array, an empty one when nothing is pending.`,
  )
}

function threw(job: Job, what: string, error: unknown): RegrowError {
  const name = read(error, 'name')
  const kind = typeof name === 'string' && name !== 'Error' ? `${name}: ` : ''
  return new RegrowError(
    'bad_source',
    `Job "${job.name}": ${what}: ${kind}${messageOf(error)}`,
    'The function is yours: mend it, or what it asks. It is asked again by itself.',
    error,
  )
}

/** One of the rows, with its canonical key; the wait is counted on the store's clock. */
export function rowOf(job: Job, row: unknown, nowMs: number): PendingKey {
  try {
    return readRow(job, row, nowMs)
  } catch (error) {
    throw error instanceof WrongRow
      ? error
      : wrongRow(`a row that cannot be read: ${messageOf(error)}`, `Answer ${shape}.`)
  }
}

function readRow(job: Job, row: unknown, nowMs: number): PendingKey {
  if (typeof row !== 'object' || row === null)
    throw wrongRow(`a row that is ${kindOfValue(row)}, expected ${shape}`, 'Answer rows: keys.map((key) => ({ key })).')
  const { key, version, runAt } = row as PendingRow
  if (key === undefined)
    throw wrongRow(
      `a row without \`key\`: it has ${listed(Object.keys(row))}`,
      'Name the identity of each row `key`: rows.map(({ id }) => ({ key: id })).',
    )
  const text = textOf(job, key)
  const wrongValue = (name: string, value: unknown, expected: string) =>
    wrongRow(
      `a row ${JSON.stringify(text).slice(0, 80)} whose \`${name}\` is ${kindOfValue(value)}, expected ${expected}`,
      `Leave \`${name}\` out where there is none.`,
    )
  if (runAt != null && !(runAt instanceof Date)) throw wrongValue('runAt', runAt, 'a Date or null')
  if (version != null && !isText(version)) throw wrongValue('version', version, 'a text or null')
  return {
    key: text,
    version: version == null ? null : storableVersion(version),
    waitMs: runAt ? waitOf(runAt, nowMs) : 0,
    input: null,
  }
}

/** What one row is, and what to return instead; who asked adds which function of which job answered it. */
export class WrongRow extends Error {
  readonly cure: string

  constructor(what: string, cure: string) {
    super(what)
    this.cure = cure
  }
}

export const wrongAnswer = (job: Job, asked: Asked, { message, cure }: WrongRow): RegrowError =>
  badSource(job, asked, `answered ${message}`, cure)

export function badSource(job: Job, asked: Asked, what: string, cure: string): RegrowError {
  return new RegrowError('bad_source', `Job "${job.name}": ${asked}() of its source ${what}`, cure)
}

const wrongRow = (what: string, cure: string) => new WrongRow(what, cure)

function textOf(job: Job, key: unknown): string {
  try {
    return job.key.textOf(key)
  } catch (error) {
    const [found = '', cure = ''] = messageOf(error).split(/\n\s*→ /)
    throw wrongRow(`a row with a bad \`key\`: ${found}`, cure)
  }
}

const listed = (names: readonly string[]) =>
  names
    .slice(0, 10)
    .map((name) => `"${name}"`)
    .join(', ') || 'no property'

const isText = (version: unknown) =>
  version instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof version)

/** A date that is none means now: a wait that is no number would stop the queue. */
const waitOf = (runAt: Date, nowMs: number) => Math.min(Math.max(0, runAt.getTime() - nowMs) || 0, durationMaxMs)

/** A version that the ledger can hold: without NUL and halves of surrogate pairs, which Postgres refuses. */
const storableVersion = (version: unknown) => versionText(version).replaceAll('\0', '').toWellFormed()

/** A date's own text is in the time zone of its process, where another process would see another version. */
const versionText = (version: unknown) =>
  version instanceof Date && !Number.isNaN(version.getTime()) ? version.toISOString() : String(version)
