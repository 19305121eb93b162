// One reason as it is told: a stable word, a sentence, what comes next, and what to type.
import { readable } from '../../base/duration.ts'
import type { WhyFacts } from './facts.ts'

/** Why a key does not run. Stable words; docs/why.md explains each. */
export const whyReasons = [
  'query_broken',
  'key_unusable',
  'running',
  'claim_silent',
  'no_row',
  'not_pending',
  'quarantined',
  'paused',
  'run_at',
  'no_worker',
  'no_progress',
  'backed_off',
  'suspect',
  'queue_down',
  'slots_full',
  'queued',
  'hinted_later',
  'sweep_failing',
  'queue_full',
  'sweep_late',
  'not_hinted',
  'hint_unknown',
] as const

export type WhyReason = (typeof whyReasons)[number]

/** What to type, and what that does. */
export interface WhyCommand {
  readonly line: string
  readonly does: string
}

/** One reason, with what follows from it. */
export interface Reason {
  readonly reason: WhyReason
  /** What is the case, in one or two sentences. */
  readonly sentence: string
  /** What will happen next by itself. */
  readonly next: string
  /** When; null: nobody can say, or never. */
  readonly nextAt: Date | null
  readonly commands: readonly WhyCommand[]
}

/** Whether a reason holds. */
export type Rule = (facts: WhyFacts) => Reason | null

/** The beginning of a line that may be typed: `regrow <verb> <job> …`. */
const word = (text: string) => (/^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** A command line whose last words may be anything. */
export function typed(verb: string, job: string, ...items: readonly string[]): string {
  const dashed = items.some((item) => item.startsWith('-')) ? ['--'] : []
  return ['regrow', verb, word(job), ...dashed, ...items.map(word)].join(' ')
}

/** Hints the key now, where that can be typed. */
export const enqueueIt = ({ job, item }: WhyFacts, does: string): WhyCommand[] =>
  item === null ? [] : [{ line: typed('enqueue', job, item), does }]

export const since = (then: Date, at: Date) => readable(Math.max(0, at.getTime() - then.getTime()))
export const ago = (then: Date, at: Date) => `${since(then, at)} ago`
export const fromNow = (then: Date, at: Date) =>
  then <= at ? 'now' : `in ${readable(Math.max(0, then.getTime() - at.getTime()))}`
export const count = (number: number, one: string, many = `${one}s`) => `${number} ${number === 1 ? one : many}`

/** The first line of an error, as the end of a sentence. */
export function lastError(error: string | null): string {
  const [line = ''] = (error ?? '').split('\n', 1)
  return line === '' ? '' : ` Last error: ${line.length > 200 ? `${line.slice(0, 199)}…` : line}`
}
