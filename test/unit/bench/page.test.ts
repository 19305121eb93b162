// bench/RESULTS.md: a run replaces its own section and no other.
import { expect, test } from 'vitest'
import { withSection } from '../../../bench/compare/page.ts'

const both = withSection(withSection('', 'redis', '## Redis\n\nold'), 'postgres', '## Postgres\n\nthere')

test('a first section comes behind the heading of the page', () => {
  expect(withSection('', 'redis', '## Redis')).toMatch(
    /^# Results\n\n.*\n\n<!-- redis -->\n\n## Redis\n\n<!-- end of redis -->\n$/,
  )
})

test('a section is replaced where it stands, and the others stay as they are', () => {
  expect(withSection(both, 'redis', '## Redis\n\nnew')).toBe(both.replace('old', 'new'))
  expect(withSection(both, 'postgres', '## Postgres\n\nnew')).toBe(both.replace('there', 'new'))
})

test('writing the same section twice changes nothing', () => {
  expect(withSection(both, 'redis', '## Redis\n\nold')).toBe(both)
})
