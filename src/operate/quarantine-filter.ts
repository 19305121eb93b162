// Which quarantined keys a person means, as options; read into what the store takes, with every mistake told.
import { type Duration, milliseconds } from '../base/duration.ts'
import { RegrowError } from '../base/errors.ts'
import { unknownOptions } from '../base/suggest.ts'
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

const known = ['error', 'since', 'before', 'version']

/** Everything. */
export const anyOfThem: QuarantineWhere = { error: null, sinceMs: null, beforeMs: null, version: null }

/** Throws what is wrong with it. */
export function readFilter(filter: QuarantineFilter): QuarantineWhere {
  const mistakes = unknownOptions(filter, known, 'quarantine filter')
  for (const name of ['error', 'version'] as const) {
    const value = filter[name]
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      mistakes.push(`\`${name}\` is ${JSON.stringify(value)}; expected a text`)
  }
  if (mistakes.length > 0) throw new RegrowError('bad_options', mistakes.join('; '), 'Nothing was done.')
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
