// From a command line to an exit code: finds the command, refuses what it does not know with a guess, runs it.
import { runCommand } from 'citty'
import { nearest } from '../base/suggest.ts'
import { type Command, type Group, usage } from './command.ts'
import { commands } from './commands/index.ts'
import { ownVersion, type Surroundings } from './config.ts'
import { fail } from './failure.ts'
import { help } from './help.ts'
import { output } from './output.ts'

/** Runs one command line. Never throws: an error is told, and becomes the exit code. */
export async function run(argv: readonly string[], around: Surroundings): Promise<number> {
  const flags = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined)
  const out = output(around, flags.includes('--json'))
  try {
    const { node, rest } = find(argv)
    if (flags.includes('--help') || flags.includes('-h')) {
      around.write(`${help(node, out.color)}\n`)
      return 0
    }
    // Of a command that has a flag of that name it is this command's.
    if (flags.includes('--version') && !(node.kind === 'command' && 'version' in node.args)) {
      around.write(`${ownVersion()}\n`)
      return 0
    }
    if (node.kind === 'group') {
      around.complain(`${help(node, out.color)}\n`)
      return 2
    }
    check(node, rest)
    const { result } = await runCommand(node.definition, { rawArgs: [...rest], data: { around, out } })
    return typeof result === 'number' ? result : 0
  } catch (error) {
    return fail(error, out, flags.includes('--debug'))
  }
}

/** The command or group that a command line names, and the words that are left for it. */
export const find = (argv: readonly string[]) => walk(commands, argv)

/** Walks down the groups. Flags may stand before the command: those that all commands have take no value. */
function walk(group: Group, argv: readonly string[]): { node: Command | Group; rest: readonly string[] } {
  const at = argv.findIndex((word) => !word.startsWith('-'))
  const name = at < 0 ? undefined : (argv[at] as string)
  if (name === undefined || argv.slice(0, at).includes('--')) return { node: group, rest: argv }
  const early = argv.slice(0, at).find((word) => !['--json', '--debug', '--help', '-h', '--version'].includes(word))
  if (early) throw usage(`${early} stands before the command`, 'Flags come after it: regrow <command> [flags].')
  const known = Object.keys(group.commands)
  const node = known.includes(name) ? group.commands[name] : undefined
  if (!node) {
    const path = ['regrow', group.name].filter(Boolean).join(' ')
    const guess = nearest(name, known)
    throw usage(
      `There is no command "${path} ${name}"`,
      guess ? `Did you mean "${path} ${guess}"?` : `There are: ${known.join(', ')}`,
    )
  }
  const rest = [...argv.slice(0, at), ...argv.slice(at + 1)]
  return node.kind === 'group' ? walk(node, rest) : { node, rest }
}

/** Refuses unknown flags, flags without their value, missing and surplus arguments. */
export function check({ args, name, rest: more }: Command, words: readonly string[]): void {
  const positionals = Object.entries(args).filter(([, { type }]) => type === 'positional')
  const known = Object.keys(args).filter((key) => args[key]?.type !== 'positional')
  const given: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    if (word === '--') {
      given.push(...words.slice(i + 1))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      given.push(word)
      continue
    }
    const [flag, value] = word.replace(/^--?/, '').split(/=(.*)/s) as [string, string | undefined]
    const definition = word.startsWith('--') && known.includes(flag) ? args[flag] : undefined
    if (!definition) throw unknownFlag(name, word.split('=', 1)[0] as string, known)
    if (definition.type === 'boolean') {
      if (value !== undefined) throw usage(`--${flag} takes no value`, `Write --${flag} alone.`)
      continue
    }
    const found = value ?? words[++i]
    if (found === undefined || found === '' || (value === undefined && found.startsWith('-')))
      throw usage(
        `--${flag} needs a value`,
        `Write --${flag} <${definition.valueHint ?? 'value'}>; \`regrow ${name} --help\` explains.`,
      )
    if (definition.type === 'enum' && !definition.options?.includes(found))
      throw usage(`--${flag} is "${found}"`, `It is one of: ${definition.options?.join(', ')}`)
  }
  const missing = positionals.slice(given.length).find(([, { required }]) => required !== false)
  if (missing) throw usage(`<${missing[0]}> is missing`, `\`regrow ${name} --help\` explains.`)
  if (more === undefined && given.length > positionals.length)
    throw usage(
      `"${given[positionals.length]}" is one argument too many`,
      `\`regrow ${name}\` takes ${positionals.map(([key]) => `<${key}>`).join(' ') || 'none'}. Quote what holds spaces.`,
    )
}

function unknownFlag(name: string, word: string, known: readonly string[]) {
  const guess = nearest(word.replace(/^--?/, ''), known)
  const listed = known.map((flag) => `--${flag}`).join(', ')
  if (/^-\d/.test(word))
    return usage(
      `There is no flag ${word}`,
      `An argument that begins with a minus comes after two of them: regrow ${name} … -- ${word}`,
    )
  if (word === '--store' && known.includes('app'))
    return usage(
      `\`regrow ${name}\` does not take --store`,
      'It needs the declarations of your jobs: give --app <path>; the app names its store.',
    )
  return usage(`\`regrow ${name}\` has no flag ${word}`, guess ? `Did you mean --${guess}?` : `It has: ${listed}`)
}
