// The flags of a long run: `--name value`, or `--name` for a switch. An unknown one is an error that lists the known.

/** Reads flags over their defaults; a default of true or false makes a switch, which `--no-name` turns off; one that is text takes a word. */
export function readFlags<Flags extends Record<string, number | boolean | string>>(
  args: readonly string[],
  defaults: Flags,
): Flags {
  const flags: Record<string, number | boolean | string> = { ...defaults }
  for (let at = 0; at < args.length; at++) {
    const word = (args[at] as string).replace(/^--/, '')
    const off = word.startsWith('no-') && typeof flags[word.slice(3)] === 'boolean'
    const name = off ? word.slice(3) : word
    if (!(name in defaults)) {
      const known = Object.entries(defaults).map(([each, value]) =>
        typeof value === 'boolean' ? `--${value ? 'no-' : ''}${each}` : `--${each} ${value}`,
      )
      throw new Error(`There is no flag ${args[at]}; expected some of: ${known.join(' ')}`)
    }
    if (typeof defaults[name] === 'boolean') flags[name] = !off
    else if (typeof defaults[name] === 'string') flags[name] = String(args[++at])
    else {
      const value = Number(args[++at])
      if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} is ${args[at]}; expected a number from 0`)
      flags[name] = value
    }
  }
  return flags as Flags
}
