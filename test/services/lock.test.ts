// The lock that keeps two runs in one folder apart: one holder at a time, and a dead one does not block the others.

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const lockModule = fileURLToPath(new URL('../../scripts/lock.mjs', import.meta.url))
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regrow-lock-'))
  await writeFile(join(folder, 'count'), '0')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Adds one to a file with a pause between reading and writing, ten times: only safe when nobody else does. */
const adder = `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { setTimeout } from 'node:timers/promises'
  import { withLock } from ${JSON.stringify(lockModule)}
  for (let i = 0; i < 10; i++) {
    await withLock('lock', async () => {
      const count = Number(readFileSync('count', 'utf8'))
      await setTimeout(2)
      writeFileSync('count', String(count + 1))
    }, { pollMs: 1 })
  }`

const node = (code: string): Promise<unknown> =>
  promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder })

test('four processes take turns, also when they begin with the lock of a dead one', async () => {
  await node(
    `import { withLock } from ${JSON.stringify(lockModule)}; await withLock('lock', async () => process.exit(0))`,
  )
  expect(await readdir(folder)).toContain('lock')
  await Promise.all([1, 2, 3, 4].map(() => node(adder)))
  expect(await readFile(join(folder, 'count'), 'utf8')).toBe('40')
  expect(await readdir(folder)).toEqual(['count'])
})
