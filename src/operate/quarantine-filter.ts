// Which quarantined keys a person means, as arguments; read into what the store takes, with every mistake told.
import { type Duration, milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import {
  checkArgument,
  checkOptions,
  longOptions,
  type Option,
  type Options,
  readElsewhere,
  shown,
  text,
} from '../base/options.ts'
import type { QuarantineWhere } from '../store/quarantine.ts'

/** Which quarantined keys. What is left out filters nothing. */
export interface QuarantineFilter {
  /** A text in their error, in any case of letters. */
  error?: string
  /** Quarantined at this instant or later; as a duration: so long ago at most. */
  since?: Date | Duration
  /** Quarantined before this instant; as a duration: so long ago at least. */
  before?: Date | Duration
  /** The version that failed, as `list` shows it. */
  version?: string
}

const filterOptions = { error: text, since: readElsewhere, before: readElsewhere, version: text } satisfies Options

/** Everything. */
export const anyOfThem: QuarantineWhere = { error: null, sinceMs: null, beforeMs: null, version: null }

/** Throws what is wrong with it; `others`: what `where` may be given beside it. */
export function readFilter(where: string, given: unknown, others: Options = {}): QuarantineWhere {
  const filter = given as QuarantineFilter
  checkOptions(where, filter, { ...others, ...filterOptions })
  const { error = null, version = null } = filter
  return { error, version, sinceMs: instant(filter.since, 'since'), beforeMs: instant(filter.before, 'before') }
}

/** Epoch ms; below zero: so many ms ago, since only the store knows what time it is. */
function instant(given: Date | Duration | undefined, name: string): number | null {
  if (given === undefined) return null
  if (!(given instanceof Date)) return -Math.max(1, milliseconds(given, `\`${name}\``))
  if (!Number.isNaN(given.getTime())) return Math.max(0, given.getTime())
  throw new RegrowError(
    'bad_options',
    `\`${name}\` is no date`,
    'Give a Date, or a duration such as 2h. Nothing was done.',
  )
}

/** The option that every list of keys has. */
export const ofJob = { job: text } satisfies Options

export const keyText: Option = {
  expected: "a text as `list` shows it, such as '4'",
  fits: (value) => typeof value === 'string',
}

/** Throws what is wrong with an act on keys, before anything is opened. */
export function checkAct(where: string, job: unknown, keys: unknown, options: unknown): void {
  checkArgument(where, 'the job', job, text)
  if (Array.isArray(keys)) for (const [i, key] of keys.entries()) checkArgument(where, `keys[${i}]`, key, keyText)
  else if (typeof keys !== 'string') {
    const { all, where: filter, ...others } = Object(keys) as Record<string, unknown>
    const one = all === true ? filter === undefined : all === undefined && filter !== undefined
    if (!one || typeof keys !== 'object' || Object.keys(others).length > 0)
      throw new RegrowError(
        'bad_options',
        `${where}: the keys are ${shown(keys)}; expected a key as \`list\` shows it, an array of them, { all: true } or { where: { … } }`,
        'Nothing was done.',
      )
    if (filter !== undefined) readFilter(`${where}, \`where\``, filter)
  }
  checkOptions(where, options, { author: text, ...longOptions })
}
