// The user that runs a server, and the folders it can write. Postgres and PgBouncer refuse to run as root, so root
// starts them as `postgres` (made by the Debian package) or as `nobody`.

import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { supervise } from './supervisor.ts'

interface User {
  readonly uid?: number
  readonly gid?: number
}

let found: User | undefined

/** The uid and gid to spawn with: empty unless this process is root. */
export function unprivilegedUser(): User {
  found ??= process.getuid?.() === 0 ? lookUp() : {}
  return found
}

/** A new folder in the OS temp dir that belongs to the server's user and is removed when this process ends. */
export function serverFolder(prefix: string): string {
  const { uid, gid } = unprivilegedUser()
  const folder = mkdtempSync(join(reachableTmp(uid), `regrow-${prefix}-`))
  supervise('folder', folder)
  chmodSync(folder, 0o700)
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

function lookUp(): User {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // This machine has no such user: try the next one.
    }
  }
  throw new Error('Postgres refuses to run as root, and this machine has neither a `postgres` nor a `nobody` user.')
}

/** TMPDIR may be a private folder of root's that another user cannot enter. */
function reachableTmp(uid: number | undefined): string {
  const tmp = tmpdir()
  if (uid === undefined) return tmp
  for (let folder = tmp; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return '/tmp'
    if (folder === dirname(folder)) return tmp
  }
}
