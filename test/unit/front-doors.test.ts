// What each front door gives, name by name: a name that users can import is one that they may rely on.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../src')

/** Names that a door exports; those of values are marked with `=`. */
function namesOf(door: string): string[] {
  const text = readFileSync(join(src, door), 'utf8')
  expect(text).not.toMatch(/export (?:type )?\*/)
  const listed = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, allTypes, names]) =>
    (names as string)
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => (allTypes || name.startsWith('type ') ? name.replace(/^type /, '') : `= ${name}`)),
  )
  const made = [...text.matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(([, name]) => `= ${name}`)
  const types = [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name as string)
  return [...listed, ...made, ...types].sort()
}

test.each(['index.ts', 'operate/index.ts', 'drivers/index.ts'])('%s exports these names and no others', (door) => {
  const names = namesOf(door)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toMatchSnapshot()
})

test('the first door has few names', () => {
  expect(namesOf('index.ts').length).toBeLessThanOrEqual(45)
})
