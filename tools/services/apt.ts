// As root on Debian or Ubuntu: one apt-get for everything that is missing. RUNLEVEL=1 keeps the packages from starting
// their own servers; if one starts anyway, it does no harm: no test uses a default port or data folder.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '../../scripts/lock.mjs'
import { log } from './log.ts'

export function canUseApt(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/** `missing` is called under the lock: another run may just have installed the packages. */
export async function aptInstall(missing: () => string[]): Promise<void> {
  await withLock(join(tmpdir(), 'regrow-apt.lock'), async () => {
    const packages = missing()
    if (packages.length === 0) return
    log(`apt-get update, then apt-get install ${packages.join(' ')}`)
    // A stale index of some third-party source makes update fail while install still works.
    await apt(['update', '-qq']).catch((error: Error) => log(error.message))
    await apt(['install', '-y', '-qq', '--no-install-recommends', ...packages])
  })
}

function apt(args: string[]): Promise<void> {
  const wait = ['-o', 'DPkg::Lock::Timeout=120']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  return new Promise((resolve, reject) => {
    const child = spawn('apt-get', [...wait, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const collect = (chunk: Buffer) => {
      output += chunk
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`apt-get ${args[0]} ended with ${code}: ${output.trim().split('\n').slice(-5).join('\n')}`))
    })
  })
}
