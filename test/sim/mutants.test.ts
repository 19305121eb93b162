// The bugs that `npm run mutants` plants: each text that it replaces is where it is said to be, so that the list cannot rot.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutants } from './mutants/list.ts'
import { changed } from './mutants/mutant.ts'
import { root } from './mutants/tree.ts'

test.each(mutants.map((mutant) => [mutant.name, mutant] as const))('%s can be planted', (_, { changes }) => {
  for (const change of changes) {
    const text = readFileSync(join(root, change.file), 'utf8')
    expect(changed(text, change)).not.toBe(text)
  }
})

test('each mutant has a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})

test('a text that is not there, or there twice, is an error', () => {
  const change = { file: 'a.ts', find: 'x', put: 'y' }
  expect(() => changed('abc', change)).toThrow('has 0 times')
  expect(() => changed('x x', change)).toThrow('has 2 times')
  expect(changed('x', { ...change, put: '$&$&' })).toBe('$&$&')
})
