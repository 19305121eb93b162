// Builds dist/ from src/ with tsc. Compiled beside and swapped in when complete: no file of a deleted source stays,
// and a process that starts meanwhile finds either the old build or the new one. Plain JavaScript: setup.mjs imports it.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Changes whenever a build could come out different. @param {string} root */
export function sourcesHash(root) {
  const hash = createHash('sha256')
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  for (const file of [...sources, join(root, 'tsconfig.json'), join(root, 'tsconfig.build.json')]) {
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  }
  return hash.digest('hex')
}

/** @param {string} root */
export async function build(root) {
  const fresh = join(root, '.tmp', `dist-${process.pid}`)
  const old = join(root, '.tmp', `dist-old-${process.pid}`)
  const dist = join(root, 'dist')
  mkdirSync(join(root, '.tmp'), { recursive: true })
  rmSync(fresh, { recursive: true, force: true })
  try {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh], {
      cwd: root,
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error('The build failed: tsc says why, above.')
    const cli = join(fresh, 'cli', 'main.js')
    if (existsSync(cli)) chmodSync(cli, 0o755)
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(fresh, dist)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
    rmSync(old, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(fileURLToPath(new URL('..', import.meta.url)))
  console.log('regrow: built dist/')
}
