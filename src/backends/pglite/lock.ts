// PGlite does not refuse a second opener, and two of them destroy a directory. A lock file beside it does.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { RegrowError } from '../../base/errors.ts'

/** Takes the lock or throws; returns what gives it back. A lock whose process is dead is taken over. */
export function lockDirectory(directory: string): () => void {
  const path = `${resolve(directory.replace(/^file:\/\//, ''))}.lock`
  mkdirSync(dirname(path), { recursive: true })
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const file = openSync(path, 'wx')
      writeSync(file, String(process.pid))
      closeSync(file)
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw error
      const owner = Number.parseInt(readFileSync(path, 'utf8'), 10)
      if (owner === process.pid || isAlive(owner))
        throw new RegrowError(
          'store_in_use',
          `The PGlite directory ${directory} is open in process ${owner}`,
          'One process at a time can open it. Stop the other one, or use Postgres: store: postgres(url).',
        )
      rmSync(path, { force: true })
    }
  }
  throw new RegrowError(
    'store_in_use',
    `The lock ${path} could not be taken`,
    'Another process takes it at the same moment; try again.',
  )
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
