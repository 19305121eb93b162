// The lock beside a PGlite directory: one owner at a time, and the dead own nothing.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDirectory } from '../../../../src/drivers/pglite/lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'regrow-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('it holds the number of its owner, beside the directory, and is gone when given back', () => {
  const unlock = lockDirectory(join(folder, 'deep', 'data'))
  expect(readFileSync(join(folder, 'deep', 'data.lock'), 'utf8')).toBe(String(process.pid))
  unlock()
  expect(readdirSync(join(folder, 'deep'))).toEqual([])
})

test('the same directory under two names is one', () => {
  const unlock = lockDirectory(join(folder, 'data'))
  expect(() => lockDirectory(`file://${join(folder, 'other', '..', 'data')}`)).toThrow('is open in process')
  unlock()
  lockDirectory(join(folder, 'data'))()
})

test('a process that lives keeps it, and the error says how to go on', () => {
  writeFileSync(join(folder, 'data.lock'), String(process.ppid))
  expect(() => lockDirectory(join(folder, 'data'))).toThrow(
    expect.objectContaining({
      code: 'store_in_use',
      message: expect.stringMatching(
        new RegExp(`open in process ${process.ppid}.*postgres\\(url\\).*remove .*data\\.lock`, 's'),
      ),
    }),
  )
})

test.each([
  ['nothing', ''],
  ['no number', 'not a number'],
  ['zero', '0'],
  ['a number that no process has', String(2 ** 22 + 7)],
  ['our own number, from a life before: containers reuse them', String(process.pid)],
])('a lock that holds %s belongs to the dead and is taken over', (_, text) => {
  writeFileSync(join(folder, 'data.lock'), text)
  const unlock = lockDirectory(join(folder, 'data'))
  expect(readFileSync(join(folder, 'data.lock'), 'utf8')).toBe(String(process.pid))
  unlock()
  expect(existsSync(join(folder, 'data.lock'))).toBe(false)
})
