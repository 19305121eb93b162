// What a command is: its flags, its examples, and what it does. Parsed by citty, checked and explained by us.
import { type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from 'citty'
import { RegrowError } from '../index.ts'
import type { Surroundings } from './config.ts'
import type { Output } from './output.ts'

/** What every command gets besides its arguments. */
export interface Cli {
  readonly around: Surroundings
  readonly out: Output
}

/** Flags that every command has. */
export const globalArgs = {
  json: { type: 'boolean', description: 'One JSON document on standard output, for machines' },
  debug: { type: 'boolean', description: 'Stack traces with errors' },
} as const satisfies ArgsDef

/** Which store: for commands that read regrow's own tables only. */
export const storeArgs = {
  store: {
    type: 'string',
    valueHint: 'url|directory',
    description:
      'postgres://… or a PGlite directory. Defaults to the app of package.json, then REGROW_STORE, DATABASE_URL',
  },
} as const satisfies ArgsDef

/** Which app: for commands that need the declarations of jobs. */
export const appArgs = {
  app: {
    type: 'string',
    valueHint: 'path',
    description: 'Module that exports `app`. Defaults to `regrow.app` in package.json',
  },
} as const satisfies ArgsDef

/** One command, ready to be parsed and explained. */
export interface Command {
  readonly kind: 'command'
  /** With its group: `quarantine list`. */
  readonly name: string
  readonly summary: string
  readonly about: string | undefined
  readonly examples: readonly (readonly [line: string, meaning: string])[]
  readonly args: ArgsDef
  /** Takes any number of further arguments; what they are called. */
  readonly rest: string | undefined
  readonly definition: CommandDef
}

/** Commands under one name. */
export interface Group {
  readonly kind: 'group'
  readonly name: string
  readonly summary: string
  readonly about: string | undefined
  readonly examples: Command['examples']
  readonly commands: Readonly<Record<string, Command | Group>>
}

/** `run` answers the exit code; nothing means 0. */
export function command<const T extends ArgsDef>(spec: {
  name: string
  summary: string
  about?: string
  args: T
  rest?: string
  examples: Command['examples']
  run: (args: ParsedArgs<T>, cli: Cli) => Promise<number | undefined>
}): Command {
  const args = { ...spec.args, ...globalArgs }
  const definition = defineCommand({
    meta: { name: spec.name, description: spec.summary },
    args,
    run: ({ args: parsed, data }) => spec.run(parsed as unknown as ParsedArgs<T>, data as Cli),
  }) as unknown as CommandDef
  const { name, summary, about, examples, rest } = spec
  return { kind: 'command', name, summary, about, examples, args, rest, definition }
}

/**
 * What the command answers to who called it. `recycle`: a worker wants to be started anew. `stopped`: a signal ended it before
 * it was done.
 */
export const exitCodes = { fine: 0, failed: 1, usage: 2, recycle: 3, stopped: 130 } as const

/** The command line is wrong; nothing was done. */
export const usage = (message: string, hint: string): RegrowError => new RegrowError('usage', message, hint)

/** A whole number of a flag, at least `least`. */
export function wholeNumber(text: string | undefined, flag: string, least: number): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^\d{1,9}$/.test(text) && number >= least) return number
  throw usage(`--${flag} is "${text}"`, `Give a whole number from ${least}.`)
}
