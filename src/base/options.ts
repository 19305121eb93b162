// Options and arguments that people give, checked where they come in: one that is misspelt, or of another type, is a setting that silently
// does not hold. In: what was given, and what each option may be. Out: one sentence per mistake.
import { isErrorLike, RegrowError } from './errors.ts'
import { isOptions, kindOfValue, unknownOptions } from './suggest.ts'

/** What an option may be. */
export interface Option {
  /** As the end of "expected …". */
  readonly expected: string
  readonly fits: (value: unknown) => boolean
}

/** What each option may be, by name. */
export type Options = Readonly<Record<string, Option>>

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

export const flag: Option = { expected: 'true or false', fits: (value) => typeof value === 'boolean' }
export const text: Option = { expected: 'a text', fits: isText }
export const texts: Option = {
  expected: 'an array of texts',
  fits: (value) => Array.isArray(value) && value.every(isText),
}
export const callback: Option = { expected: 'a function', fits: (value) => typeof value === 'function' }
export const abortSignal: Option = {
  expected: 'an AbortSignal',
  fits: (value) => {
    const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>
    return typeof aborted === 'boolean' && typeof addEventListener === 'function'
  },
}
/** Whoever reads it says what is wrong with it: durations, dates, transactions. */
export const readElsewhere: Option = { expected: '', fits: () => true }

/** A whole number. `most` undefined: any from `least` on. */
export const wholeNumber = (least: number, most?: number): Option => ({
  expected: `a whole number from ${least}${most === undefined ? '' : ` to ${most}`}`,
  fits: (value) =>
    Number.isInteger(value) && (value as number) >= least && (most === undefined || (value as number) <= most),
})

/** Options of everything that people wait for: `ProgressOptions`. */
export const longOptions = { onProgress: callback, signal: abortSignal } satisfies Options

/** What is wrong with `given`, a sentence each; `where` names the call. An option that is undefined is left out. */
export function optionMistakes(where: string, given: unknown, options: Options): string[] {
  const names = Object.keys(options)
  if (!isOptions(given))
    return [`${where}: the options are ${shown(given)}; expected an object with ${listed(names)}, or nothing`]
  const values = Object.entries(given as object).filter(([, value]) => value !== undefined)
  const wrong = values.flatMap(([name, value]) => {
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    if (!option || option.fits(value)) return []
    return [`${where}: \`${name}\` is ${shown(value)}; expected ${option.expected}`]
  })
  return [...unknownOptions(given as object, names, where), ...wrong]
}

/** Throws `bad_options` with all that is wrong with `given`; `done` says what became of the call. */
export function checkOptions(where: string, given: unknown, options: Options, done = nothingDone): void {
  const mistakes = optionMistakes(where, given, options)
  if (mistakes.length > 0) throw new RegrowError('bad_options', mistakes.join('; '), done)
}

/** The same for one argument, `name`. */
export function checkArgument(where: string, name: string, value: unknown, option: Option, done = nothingDone): void {
  if (option.fits(value)) return
  throw new RegrowError('bad_options', `${where}: ${name} is ${shown(value)}; expected ${option.expected}`, done)
}

const nothingDone = 'Nothing was done.'

/** A value for an error: what is short as itself, everything else by its kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return isErrorLike(value) ? 'an error' : kindOfValue(value)
}

const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
