// PGlite does not refuse a second opener, and two of them destroy a directory. A lock file beside it does.
import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf, RegrowError } from '../../base/errors.ts'

/** Locks that this process holds. A lock with our number that is not among them is a dead process's: containers reuse numbers. */
const held = new Set<string>()

/** Takes the lock or throws; returns what gives it back. A lock whose process is dead is taken over. */
export function lockDirectory(directory: string): () => void {
  const path = `${pathOf(directory)}.lock`
  mkdirSync(dirname(path), { recursive: true })
  for (let attempt = 0; attempt < 3; attempt++) {
    if (created(path)) {
      held.add(path)
      return () => {
        held.delete(path)
        rmSync(path, { force: true })
      }
    }
    const text = read(path)
    const owner = Number.parseInt(text, 10)
    if (held.has(path) || (owner !== process.pid && isAlive(owner)))
      throw new RegrowError(
        'store_in_use',
        `The PGlite directory ${directory} is open in process ${owner}`,
        `One process at a time can open it. Stop the other one, or use Postgres: store: postgres(url). (If process ${owner} is something else, remove ${path}.)`,
      )
    removeStale(path, text)
  }
  throw new RegrowError(
    'store_in_use',
    `The lock ${path} could not be taken`,
    'Another process takes it at the same moment; try again.',
  )
}

/**
 * Makes the directory, if it is missing, and closes it to other users of the machine, as Postgres demands of its own. One that belongs
 * to another user stays as it is.
 */
export function keepPrivate(directory: string): void {
  const path = pathOf(directory)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  try {
    chmodSync(path, 0o700)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error
  }
}

const pathOf = (directory: string) => resolve(directory.replace(/^file:\/\//, ''))

/** A link makes the file with its text in one step: nobody reads a lock without its owner. Where there are no links, nearly so. */
function created(path: string): boolean {
  const own = `${path}.${process.pid}`
  writeFileSync(own, String(process.pid))
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    return codeOf(error) !== 'EEXIST' && createdAlone(path)
  } finally {
    rmSync(own, { force: true })
  }
}

function createdAlone(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Moved aside first and looked at again: it may be a new owner's by now, and then it goes back. */
function removeStale(path: string, text: string): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (readFileSync(aside, 'utf8') !== text) renameSync(aside, path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
