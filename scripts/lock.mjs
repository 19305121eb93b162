// A lock between processes, as a file that holds its owner's pid: two `npm test` in one folder must not run two
// `npm ci` at once. The lock of a process that is gone is taken over, so a killed run never blocks the next one.

import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// A pid can belong to a stranger after a reboot. Nothing here holds a lock for this long.
const OLD_MS = 20 * 60_000

/**
 * Runs `work` while holding the lock `file`, waiting for its turn first.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {{ onWait?: (pid: number) => void, pollMs?: number }} [options]
 * @returns {Promise<T>}
 */
export async function withLock(file, work, { onWait, pollMs = 100 } = {}) {
  const mine = `${process.pid} ${randomUUID()}`
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
    return await work()
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
  try {
    process.kill(pidOf(content), 0)
  } catch (error) {
    // EPERM: alive, and somebody else's.
    if (error.code === 'ESRCH' || !Number.isInteger(pidOf(content))) return true
  }
  try {
    return statSync(file).mtimeMs < Date.now() - OLD_MS
  } catch {
    return false
  }
}
