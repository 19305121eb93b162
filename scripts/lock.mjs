// A lock between processes, as a file that holds its owner's pid: two `npm test` in one folder must not run two
// `npm ci` at once. The lock of a process that is gone is taken over, so a killed run never blocks the next one.
// File: the owner's pid, a random id, and the pids of children that must be gone too.

import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// A pid can belong to a stranger after a reboot. Nothing here holds a lock for this long.
const OLD_MS = 20 * 60_000

/**
 * Runs `work` while holding the lock `file`, waiting for its turn first.
 * @template T
 * @param {string} file
 * @param {(share: (pid: number) => void) => Promise<T>} work `share` makes the lock last as long as that child, too
 * @param {{ onWait?: (pid: number) => void, pollMs?: number }} [options]
 * @returns {Promise<T>}
 */
export async function withLock(file, work, { onWait, pollMs = 100 } = {}) {
  let mine = `${process.pid} ${randomUUID()}`
  let told = false
  mkdirSync(dirname(file), { recursive: true })
  while (!tryLock(file, mine)) {
    const theirs = read(file)
    if (theirs === undefined) continue
    if (isStale(file, theirs)) {
      // Under a lock of its own: else two waiters see the same dead owner, and the second one deletes the first one's new lock.
      await withLock(`${file}.takeover`, async () => {
        if (read(file) === theirs) rmSync(file, { force: true })
      })
      continue
    }
    if (!told) onWait?.(pidOf(theirs))
    told = true
    await sleep(pollMs)
  }
  try {
    return await work((pid) => {
      mine += ` ${pid}`
      writeFileSync(`${file}.shared`, mine)
      renameSync(`${file}.shared`, file)
    })
  } finally {
    if (read(file) === mine) rmSync(file, { force: true })
  }
}

/** Linking a finished file is atomic: nobody ever reads a lock whose owner is not written yet. */
function tryLock(file, mine) {
  const draft = `${file}.${mine.split(' ')[1]}`
  writeFileSync(draft, mine)
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function pidOf(content) {
  return Number(content.split(' ')[0])
}

function isStale(file, content) {
  const [owner, , ...children] = content.split(' ')
  if (![owner, ...children].some((pid) => isAlive(Number(pid)))) return true
  try {
    return statSync(file).mtimeMs < Date.now() - OLD_MS
  } catch {
    return false
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It lives, under another account.
    return error.code === 'EPERM'
  }
}
