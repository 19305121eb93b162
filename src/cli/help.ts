// The text of --help: what it does, how it is called, its flags, and examples that work.
import type { ArgsDef } from 'citty'
import { type Command, type Group, globalArgs } from './command.ts'
import type { Output } from './output.ts'

/** The help of a command or a group. */
export function help(node: Command | Group, color: Output['color']): string {
  const title = (text: string) => color.bold(text)
  const name = ['regrow', node.name].filter(Boolean).join(' ')
  const parts = [`${node.summary}.`, ...(node.about ? [node.about] : [])]
  if (node.kind === 'group') {
    parts.push(`${title('Usage')}\n  ${name} <command> [flags]`)
    parts.push(
      `${title('Commands')}\n${columns(Object.entries(node.commands).map(([each, { summary }]) => [each, summary]))}`,
    )
    parts.push(`${title('Flags')}\n${flags(globalArgs)}`)
  } else {
    const { positionals, options } = sorted(node)
    const shown = positionals.map(([key, { required }]) => (required === false ? `[${key}]` : `<${key}>`))
    parts.push(
      `${title('Usage')}\n  ${[name, ...shown, ...(node.rest ? [`[${node.rest}…]`] : []), '[flags]'].join(' ')}`,
    )
    if (positionals.length > 0)
      parts.push(
        `${title('Arguments')}\n${columns(positionals.map(([key, { description = '' }]) => [key, description]))}`,
      )
    parts.push(`${title('Flags')}\n${flags(options)}`)
  }
  if (node.examples.length > 0)
    parts.push(`${title('Examples')}\n${columns(node.examples.map(([line, meaning]) => [line, meaning]))}`)
  if (node.name === '')
    parts.push(
      `${title('Exit codes')}\n${columns([
        ['0', 'fine'],
        ['1', 'it failed'],
        ['2', 'the command line is wrong; nothing was done'],
        ['3', '`regrow work` stopped by itself: too many slots are stuck, start it anew'],
        ['130', 'a signal ended it before it was done; what was done until then stays done'],
      ])}`,
    )
  return parts.join('\n\n')
}

function sorted({ args }: Command) {
  const entries = Object.entries(args)
  return {
    positionals: entries.filter(([, { type }]) => type === 'positional'),
    options: Object.fromEntries(entries.filter(([, { type }]) => type !== 'positional')) as ArgsDef,
  }
}

function flags(args: ArgsDef): string {
  const rows = Object.entries(args).map(([name, definition]) => {
    const choices = definition.type === 'enum' ? definition.options?.join('|') : definition.valueHint
    const value = definition.type === 'boolean' ? '' : ` <${choices ?? name}>`
    return [`--${name}${value}`, definition.description ?? '']
  })
  return columns([...rows, ['--help', 'This text']])
}

function columns(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([first]) => (first as string).length))
  return rows.map(([first, second]) => `  ${(first as string).padEnd(width)}  ${second}`.trimEnd()).join('\n')
}
