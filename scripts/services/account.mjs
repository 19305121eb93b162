// Which account runs a server, and where its files go. Postgres and PgBouncer refuse to run as root, so as root
// they run as `postgres` (made by the Debian package) or as `nobody`.

import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { watchOver } from './guard.mjs'

let found

/** The uid and gid to spawn with: empty unless we are root. @returns {{ uid?: number, gid?: number }} */
export function serverAccount() {
  found ??= process.getuid?.() === 0 ? lookUp() : {}
  return found
}

/** A new folder in the OS temp dir that belongs to the server's account and goes away with this process. */
export function serverFolder(prefix) {
  const { uid, gid } = serverAccount()
  const folder = mkdtempSync(join(reachableTmp(uid), `regrow-${prefix}-`))
  watchOver('folder', folder)
  chmodSync(folder, 0o700)
  if (uid !== undefined) chownSync(folder, uid, gid)
  return folder
}

function lookUp() {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // Not on this machine: the next one.
    }
  }
  throw new Error('Postgres refuses to run as root, and this machine has neither a `postgres` nor a `nobody` account.')
}

/** TMPDIR may be a private folder of root's, where another account cannot go. */
function reachableTmp(uid) {
  const tmp = tmpdir()
  if (uid === undefined) return tmp
  for (let folder = tmp; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return '/tmp'
    if (folder === dirname(folder)) return tmp
  }
}
