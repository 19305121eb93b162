// Looks for programs in folders: PATH first, then where distributions and Homebrew keep versions side by side.

import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Folders for patterns with at most one `*` per path segment, higher versions first. @param {string[]} patterns */
export function newestFirst(patterns) {
  return patterns.flatMap((pattern) => expand(pattern).sort((a, b) => b.localeCompare(a, 'en', { numeric: true })))
}

/** The first folder that has all the programs. @param {string[]} programs @param {string[]} extraFolders */
export function folderWith(programs, extraFolders) {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return [...path, ...extraFolders].find((folder) => programs.every((name) => isProgram(join(folder, name))))
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function expand(pattern) {
  if (!pattern.includes('*')) return [pattern]
  let folders = ['/']
  for (const segment of pattern.split('/').filter(Boolean)) {
    if (!segment.includes('*')) {
      folders = folders.map((folder) => join(folder, segment))
      continue
    }
    const [before, after] = segment.split('*')
    folders = folders.flatMap((folder) =>
      list(folder)
        .filter((name) => name.startsWith(before) && name.endsWith(after))
        .map((name) => join(folder, name)),
    )
  }
  return folders
}

function list(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
