// Copies of the sources to plant bugs in: what git knows of, as it is now, and the packages by a link.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { changed, type Mutant } from './mutant.ts'

/** The folder of the sources. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

const folders = new Set<string>()

/** A folder of its own with a copy of the sources; whoever asked removes it. */
export function copyOf(sources: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'regrow-mutant-'))
  folders.add(folder)
  const files = execFileSync('git', ['ls-files', '-z', 'src', 'test', 'scripts', 'tools', '*.json', '*.ts'], {
    cwd: root,
  })
  for (const file of files.toString().split('\0').filter(Boolean)) {
    // Deleted and not yet committed, or added since `sources` was made.
    if (!existsSync(join(sources, file))) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(sources, file), join(folder, file), { force: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Plants the bug in a copy. */
export function plant(folder: string, { changes }: Mutant): void {
  for (const change of changes) {
    const path = join(folder, change.file)
    writeFileSync(path, changed(readFileSync(path, 'utf8'), change))
  }
  if (changes.some(({ file }) => /\.(sql|lua)$/.test(file)))
    execFileSync(process.execPath, ['scripts/embed.mjs'], { cwd: folder, stdio: 'ignore' })
}

/** Removes all copies that were made. */
export const removeAll = (): void => {
  for (const folder of folders) remove(folder)
}

export function remove(folder: string): void {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true })
}
