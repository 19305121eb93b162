// docs/why.md has a row for every reason, in the order in which they are looked for, and for no other.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { whyReasons } from '../../src/operate/index.ts'
import { root } from './markdown.ts'

test('every reason of `regrow why` has its row in docs/why.md', () => {
  const text = readFileSync(join(root, 'docs/why.md'), 'utf8')
  const [, table = ''] = text.split('\n## Reasons\n')
  const rows = [...table.matchAll(/^\| `([a-z_]+)` \| (.+) \| (.+) \|$/gm)].map(([, reason]) => reason)
  expect(rows).toEqual([...whyReasons])
})
