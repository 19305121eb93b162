// Makes a checkout ready to run, with nothing but Node: installs what the lockfile says when it changed, builds when
// the sources changed. `npm start` and `npm test` call it themselves, because pre-scripts are skipped for users who
// set `ignore-scripts`. Two runs at once take turns. Plain JavaScript without packages, with all that it imports: there
// are none yet.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, sourcesHash } from './build.mjs'
import { withLock } from './lock.mjs'
import { npm } from './npm.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const installStamp = join(root, 'node_modules', '.regrow-install')
const buildStamp = join(root, 'node_modules', '.regrow-build')

/** Installs and builds what is out of date. Prints one line, and one more for each thing it has to do. */
export async function setup() {
  console.log(`regrow: making ready${isInstalled() && isBuilt() ? ' (nothing to do)' : ''}`)
  await install()
  await buildIfChanged()
}

/** `npm ci` when package-lock.json differs from what node_modules was made from. */
export async function install() {
  if (isInstalled()) return
  await locked(async (share) => {
    if (isInstalled()) return
    const began = performance.now()
    console.log('regrow: installing dependencies with npm ci, usually 10 to 60 seconds')
    // --include: NODE_ENV=production and `omit` settings would leave out what the build needs.
    const flags = [
      '--include=dev',
      '--include=optional',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ]
    const hash = lockfileHash()
    // An npm whose starter was killed goes on by itself; a second one beside it would break both.
    await npm(['ci', ...flags], { cwd: root, show: true, onSpawn: share })
    stamp(installStamp, hash)
    console.log(`regrow: installed in ${seconds(began)}`)
  })
}

/** Builds dist/ when it is missing or older than the sources. */
export async function buildIfChanged() {
  if (isBuilt()) return
  await locked(async () => {
    if (isBuilt()) return
    const began = performance.now()
    const hash = sourcesHash(root)
    await build(root)
    stamp(buildStamp, hash)
    console.log(`regrow: built in ${seconds(began)}`)
  })
}

function isInstalled() {
  return read(installStamp) === lockfileHash()
}

function isBuilt() {
  return existsSync(join(root, 'dist', 'index.js')) && read(buildStamp) === sourcesHash(root)
}

function lockfileHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function stamp(file, content) {
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(file, content)
}

function seconds(began) {
  return `${((performance.now() - began) / 1000).toFixed(1)} s`
}

function locked(work) {
  const onWait = (pid) => console.log(`regrow: process ${pid} is setting up this folder, waiting for it`)
  return withLock(join(root, '.tmp', 'setup.lock'), work, { onWait })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setup().catch((error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
