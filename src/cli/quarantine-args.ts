// Flags that say which quarantined keys are meant, and what they mean.

import { milliseconds } from '../base/duration.ts'
import type { Duration } from '../index.ts'
import type { QuarantineFilter } from '../operate/index.ts'
import { appArgs, storeArgs, usage } from './command.ts'

/** Which store, as in all commands that read regrow's own tables. */
export const where = { ...storeArgs, ...appArgs } as const

export const filterArgs = {
  error: {
    type: 'string',
    valueHint: 'text',
    description: 'Only those whose error holds this text, in any case of letters',
  },
  since: {
    type: 'string',
    valueHint: 'time',
    description: 'Only those that failed for good since then: 2h ago, or 2030-01-31T08:00:00Z',
  },
  before: { type: 'string', valueHint: 'time', description: 'Only those that failed for good before then, as --since' },
  version: { type: 'string', valueHint: 'text', description: 'Only those of this version of their row' },
} as const

/** The filter that the flags make; without any of them, one that finds everything. */
export function filterOf(args: {
  error?: string | undefined
  since?: string | undefined
  before?: string | undefined
  version?: string | undefined
}): QuarantineFilter {
  const { error, since, before, version } = args
  return {
    ...(error === undefined ? {} : { error }),
    ...(version === undefined ? {} : { version }),
    ...(since === undefined ? {} : { since: timeOf(since, 'since') }),
    ...(before === undefined ? {} : { before: timeOf(before, 'before') }),
  }
}

/** A duration is one that ends now; a bare date or a time without a zone means another instant on another machine. */
function timeOf(text: string, flag: string): Date | Duration {
  if (/^\d+(\.\d+)?\s?(ms|s|m|h|d)$/.test(text)) {
    milliseconds(text as Duration, `--${flag}`)
    return text as Duration
  }
  const date = new Date(text)
  if (!Number.isNaN(date.getTime()) && /T.*(Z|[+-]\d\d:?\d\d)$/i.test(text)) return date
  throw usage(
    `--${flag} is "${text}"`,
    'Write how long ago, as in 2h, or date, time and zone: 2030-01-31T08:00:00Z or 2030-01-31T09:00:00+01:00.',
  )
}
