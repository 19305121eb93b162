// A declared job as the arrows see it, and the reading of what the user wrote: every mistake is found, none is thrown.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { milliseconds } from '../base/duration.ts'
import { messageOf } from '../base/errors.ts'
import { shown } from '../base/options.ts'
import { isOptions, kindOfValue, unknownOptions } from '../base/suggest.ts'
import { type CoveredState, readCovers } from './covers.ts'
import type { CommonOptions } from './declaration.ts'
import { type KeyCodec, type KeyShape, keyCodec } from './key.ts'
import type { RetryPolicy } from './outcome.ts'
import { type CustomPending, isCustomPending, type Pending, queryReader, type SqlQuery } from './pending.ts'
import { type Recurrence, readSchedule, slotCodec } from './schedule.ts'

/** A job with every default filled in. */
export interface Job {
  readonly name: string
  readonly key: KeyCodec
  /** The pending query's present form; null for input jobs and custom sources. */
  readonly query: (() => SqlQuery) | null
  readonly custom: CustomPending<never> | null
  readonly input: StandardSchemaV1 | null
  /** Its keys are slots of schedules. */
  readonly slots: boolean
  /** When it recurs; null for other jobs, and for one whose slots come from schedules made at run time only. */
  readonly schedule: Recurrence | null
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  /** Calls at a time in one process; null: as many as the process has. */
  readonly concurrency: number | null
  /** Keys that a call of its handler gets at most, as an array; null: it gets one key, by itself. */
  readonly batch: number | null
  readonly uniqueUntil: 'start' | 'success'
  readonly sweepEveryMs: number
  readonly sweepJitterMs: number
  /** An address that is called after each sweep that succeeded; null: none. It may be a secret. */
  readonly heartbeat: string | null
  /** Columns that tell the state of its rows; each value is terminal, or claimed by some job. */
  readonly covers: readonly CoveredState[]
}

/** Whether the work is rows, inputs, or instants of a schedule. */
export const kindOf = ({ slots, input }: Pick<Job, 'slots' | 'input'>): 'pending' | 'input' | 'schedule' =>
  slots ? 'schedule' : input ? 'input' : 'pending'

/** What `app.job` was given, before anything is known of it. */
export type GivenOptions = CommonOptions & {
  key?: unknown
  pending?: unknown
  input?: unknown
  schedule?: unknown
  covers?: unknown
  batch?: unknown
  run?: unknown
}

const known = [
  'key',
  'pending',
  'input',
  'schedule',
  'run',
  'retry',
  'timeout',
  'concurrency',
  'batch',
  'uniqueUntil',
  'sweep',
  'covers',
]
const keyTypes = ['text', 'int', 'bigint', 'uuid']

/** Names are identifiers in tables, queues, URLs and metrics. */
export const jobNamePattern = /^[A-Za-z][A-Za-z0-9_.:-]{0,127}$/

/** Jobs of regrow's own, which every worker has and nobody declares. */
export const isOwn = (name: string) => name.startsWith('regrow.')

/** The options as an object; what is no object has none, and `readJob` says so. */
export const optionsOf = (given: unknown): GivenOptions => (isOptions(given) ? (given as GivenOptions) : {})

export function readJob(name: string, given: unknown): { job: Job; mistakes: string[] } {
  const where = `job "${String(name)}"`
  const options = optionsOf(given)
  const mistakes = unknownOptions(options, known, where)
  const wrong = (sentence: string) => mistakes.push(`${where}: ${sentence}`)
  if (!isOptions(given))
    wrong(`the options are ${kindOfValue(given)}; expected an object such as { pending: sql\`select id from …\`, run }`)
  /** The value, or the fallback and a mistake. */
  const attempt = <T>(read: () => T, fallback: T): T => {
    try {
      return read()
    } catch (error) {
      wrong(messageOf(error).replace('\n  → ', '. '))
      return fallback
    }
  }
  const duration = (value: unknown, what: string, standard: number) =>
    value === undefined ? standard : attempt(() => milliseconds(value as number, `\`${what}\``), standard)

  if (typeof name !== 'string' || !jobNamePattern.test(name))
    wrong(`a name begins with a letter and has at most 128 of A-Z a-z 0-9 _ . : -`)
  else if (isOwn(name)) wrong('names that begin with "regrow." are its own')
  const kinds = ['pending', 'input', 'schedule'].filter((kind) => options[kind as 'pending'] !== undefined)
  if (kinds.length === 0 && isOptions(given))
    wrong(
      '`pending` is missing: which rows imply that this job should run? (or `input`, for work that has no row; or `schedule`, for what recurs)',
    )
  if (kinds.length > 1)
    wrong(`it has ${kinds.map((kind) => `\`${kind}\``).join(' and ')}; a job has exactly one of them`)
  if (options.input !== undefined && options.key !== undefined)
    wrong('`key` belongs to `pending` jobs; an intent has its own id')
  if (options.schedule !== undefined && options.key !== undefined)
    wrong('`key` belongs to `pending` jobs; a slot is known by its schedule and its instant')
  if (options.input !== undefined && !isSchema(options.input))
    wrong('`input` is no Standard Schema (zod, valibot and others make them)')
  if (options.run !== undefined && typeof options.run !== 'function') wrong('`run` is no function')
  for (const name of ['concurrency', 'batch'] as const)
    if (options[name] !== undefined && !(Number.isInteger(options[name]) && (options[name] as number) >= 1))
      wrong(`\`${name}\` is ${shown(options[name])}; expected a whole number from 1`)
  if (options.schedule !== undefined && options.batch !== undefined)
    wrong('`batch` belongs to `pending` and `input` jobs; each slot of a schedule is a call by itself')
  if (options.uniqueUntil !== undefined && !['start', 'success'].includes(options.uniqueUntil))
    wrong(`\`uniqueUntil\` is ${JSON.stringify(options.uniqueUntil)}; expected 'start' or 'success'`)

  /** Options that are an object of their own; a bare value there would be a setting that silently does not hold. */
  const group = <T extends object>(value: T | undefined, name: string, example: string): Partial<T> => {
    if (value === undefined) return {}
    if (typeof value === 'object' && value !== null) return value
    wrong(`\`${name}\` is ${JSON.stringify(value)}; expected an object such as ${example}`)
    return {}
  }
  const sweep = group(options.sweep, 'sweep', "{ every: '1m' }")
  const covered = readCovers(options.covers, where)
  mistakes.push(...covered.mistakes)
  if (options.covers !== undefined && options.pending === undefined)
    wrong('`covers` belongs to `pending` jobs: it is about rows of yours')
  mistakes.push(...unknownOptions(sweep, ['every', 'jitter', 'heartbeat'], `${where}, \`sweep\``))

  const pending = options.pending as Pending<never> | undefined
  const custom = isCustomPending(pending) ? pending : null
  const recurs = options.schedule === undefined ? null : readSchedule(options.schedule, where)
  mistakes.push(...(recurs?.mistakes ?? []))
  return {
    mistakes,
    job: {
      name,
      key: recurs ? slotCodec : keyCodec(options.input !== undefined ? 'uuid' : readShape(options.key, wrong)),
      query: pending === undefined || custom ? null : attempt(() => queryReader(pending as never), null),
      custom,
      input: isSchema(options.input) ? options.input : null,
      slots: recurs !== null,
      schedule: recurs?.recurrence ?? null,
      retry: readRetry(group(options.retry, 'retry', '{ attempts: 20 }'), where, mistakes, duration),
      timeoutMs: duration(options.timeout, 'timeout', 15 * 60_000),
      concurrency: options.concurrency ?? null,
      batch: (options.batch as number | undefined) ?? null,
      uniqueUntil: options.uniqueUntil ?? 'start',
      sweepEveryMs: duration(sweep.every, 'sweep.every', 60_000),
      sweepJitterMs: duration(sweep.jitter, 'sweep.jitter', 0),
      heartbeat: readHeartbeat(sweep.heartbeat, wrong),
      covers: covered.covers,
    },
  }
}

function readRetry(
  retry: NonNullable<CommonOptions['retry']>,
  where: string,
  mistakes: string[],
  duration: (value: unknown, what: string, standard: number) => number,
): RetryPolicy {
  mistakes.push(...unknownOptions(retry, ['attempts', 'backoff', 'delay', 'maxDelay'], `${where}, \`retry\``))
  const attemptsMax = retry.attempts ?? 20
  if (!Number.isInteger(attemptsMax) || attemptsMax < 1 || attemptsMax > 1_000_000)
    mistakes.push(`${where}: \`retry.attempts\` is ${String(attemptsMax)}; expected a whole number from 1`)
  if (retry.backoff !== undefined && !['exponential', 'fixed'].includes(retry.backoff))
    mistakes.push(`${where}: \`retry.backoff\` is ${JSON.stringify(retry.backoff)}; expected 'exponential' or 'fixed'`)
  return {
    attemptsMax,
    backoff: retry.backoff ?? 'exponential',
    backoffMs: duration(retry.delay, 'retry.delay', 2_000),
    backoffMaxMs: duration(retry.maxDelay, 'retry.maxDelay', 3_600_000),
  }
}

function readShape(key: unknown, wrong: (sentence: string) => void): KeyShape {
  if (key === undefined) return 'text'
  const types = typeof key === 'object' && key !== null && !Array.isArray(key) ? Object.values(key) : [key]
  if (types.length > 0 && types.every((type) => keyTypes.includes(type as string))) return key as KeyShape
  wrong(`\`key\` is ${JSON.stringify(key)}; expected 'text', 'int', 'bigint', 'uuid', or an object of these`)
  return 'text'
}

/** The address itself is not repeated: it may be a secret. */
function readHeartbeat(url: unknown, wrong: (sentence: string) => void): string | null {
  if (url === undefined) return null
  const { protocol, username, password } =
    typeof url === 'string' && URL.canParse(url) ? new URL(url) : { protocol: '' }
  if (!/^https?:$/.test(protocol)) wrong('`sweep.heartbeat` is no address; expected https://… or http://…')
  // `fetch` refuses these at every call, long after anybody looked.
  else if (username || password)
    wrong('`sweep.heartbeat` has a user or password in it; give an address that needs none')
  else return url as string
  return null
}

function isSchema(value: unknown): value is StandardSchemaV1 {
  const standard = (value as { '~standard'?: unknown } | null | undefined)?.['~standard']
  return typeof (standard as { validate?: unknown } | null | undefined)?.validate === 'function'
}
