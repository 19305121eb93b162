// What a Redis server runs on. 6.2 is the oldest version whose commands the queue uses. The npm registry has none.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { newestFirst } from '../find-binary.ts'
import type { Requirement } from './requirement.ts'

export const redisRequirement: Requirement = {
  name: 'redis',
  binaries: ['redis-server'],
  folders: () =>
    newestFirst([
      '/usr/bin',
      '/usr/local/bin',
      '/opt/homebrew/opt/redis/bin',
      '/opt/homebrew/opt/redis@*/bin',
      '/usr/local/opt/redis/bin',
      '/usr/local/opt/redis@*/bin',
    ]),
  isSupported: (folder) => redisVersion(folder) >= 6.2,
  debian: 'redis-server',
  brew: 'redis',
  image: 'redis:7.0',
}

/** Major and minor version as one number, such as 7.0; 0 when the binary does not say. */
export function redisVersion(folder: string): number {
  try {
    const output = execFileSync(join(folder, 'redis-server'), ['--version'], { encoding: 'utf8' })
    return Number(/ v=(\d+\.\d)/.exec(output)?.[1] ?? 0)
  } catch {
    return 0
  }
}
