// As root on Debian or Ubuntu: one apt-get for everything that is missing. The packages' own servers are not
// started (RUNLEVEL=1), and if they were: no test uses a default port or data folder.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../lock.mjs'

export function aptIsOurs() {
  return process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/** @param {() => string[]} missing asked again under the lock: another run may have just installed them */
export async function aptInstall(missing, say) {
  await withLock(join(tmpdir(), 'regrow-apt.lock'), async () => {
    const packages = missing()
    if (packages.length === 0) return
    say(`apt-get update, then apt-get install ${packages.join(' ')}`)
    // A stale index of some third-party source makes update fail while install still works.
    await apt(['update', '-qq']).catch((error) => say(error.message))
    await apt(['install', '-y', '-qq', '--no-install-recommends', ...packages])
  })
}

function apt(args) {
  const wait = ['-o', 'DPkg::Lock::Timeout=120']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  return new Promise((resolve, reject) => {
    const child = spawn('apt-get', [...wait, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`apt-get ${args[0]} ended with ${code}: ${output.trim().split('\n').slice(-5).join('\n')}`))
    })
  })
}
