// Fetches what is measured against into bench/peers/, from its own lockfile, when it is not there yet.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { npm } from '../../scripts/npm.mjs'

const folder = fileURLToPath(new URL('../peers/', import.meta.url))

/** Versions of some of the peers' packages, as they are installed; fetches all first where one is missing or another. */
export async function peers(
  say: (line: string) => void,
  used: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const wanted: Record<string, string> = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')).dependencies
  const names = Object.keys(wanted)
  if (names.some((name) => installed(name) !== wanted[name])) {
    say(`fetching ${names.map((name) => `${name} ${wanted[name]}`).join(', ')} from the npm registry into bench/peers/`)
    await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder })
  }
  return Object.fromEntries(used.map((name) => [name, installed(name) ?? 'missing']))
}

function installed(name: string): string | undefined {
  const file = `${folder}node_modules/${name}/package.json`
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined
}
