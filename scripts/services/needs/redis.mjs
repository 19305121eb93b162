// What a Redis server needs. 6.2 is the oldest whose commands the queue uses. The npm registry has no such program.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { newestFirst } from '../places.mjs'

/** @type {import('../finder.mjs').Need} */
export const redisNeed = {
  name: 'redis',
  programs: ['redis-server'],
  places: () =>
    newestFirst([
      '/usr/bin',
      '/usr/local/bin',
      '/opt/homebrew/opt/redis/bin',
      '/opt/homebrew/opt/redis@*/bin',
      '/usr/local/opt/redis/bin',
      '/usr/local/opt/redis@*/bin',
    ]),
  suits: (folder) => redisVersion(folder) >= 6.2,
  debian: 'redis-server',
  brew: 'redis',
  image: 'redis:7.0',
}

/** Major and minor as one number, such as 7.0; 0 when the program does not say. @param {string} folder */
export function redisVersion(folder) {
  try {
    const said = execFileSync(join(folder, 'redis-server'), ['--version'], { encoding: 'utf8' })
    return Number(/ v=(\d+\.\d)/.exec(said)?.[1] ?? 0)
  } catch {
    return 0
  }
}
