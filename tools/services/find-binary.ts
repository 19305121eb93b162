// Looks for binaries in folders: PATH first, then where distributions and Homebrew keep versions next to each other.

import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Folders for patterns with at most one `*` per path segment, higher versions first. */
export function newestFirst(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => expand(pattern).sort((a, b) => b.localeCompare(a, 'en', { numeric: true })))
}

/** The first folder that has all the binaries. */
export function findFolderWith(binaries: readonly string[], extraFolders: readonly string[]): string | undefined {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return [...path, ...extraFolders].find((folder) => binaries.every((name) => isExecutable(join(folder, name))))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function expand(pattern: string): string[] {
  if (!pattern.includes('*')) return [pattern]
  let folders = ['/']
  for (const segment of pattern.split('/').filter(Boolean)) {
    if (!segment.includes('*')) {
      folders = folders.map((folder) => join(folder, segment))
      continue
    }
    const [before = '', after = ''] = segment.split('*')
    folders = folders.flatMap((folder) =>
      list(folder)
        .filter((name) => name.startsWith(before) && name.endsWith(after))
        .map((name) => join(folder, name)),
    )
  }
  return folders
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
