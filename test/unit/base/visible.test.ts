// No text acts on the terminal or the log that shows it.
import { expect, test } from 'vitest'
import { visible } from '../../../src/base/visible.ts'

test.each([
  ['a\u001b[2Jb', 'a\\x1b[2Jb'],
  ['a\nb\rc\td', 'a\\x0ab\\x0dc\\x09d'],
  ['\u009b31m', '\\x9b31m'],
  ['file\u202egnp.exe', 'file\\u202egnp.exe'],
  ['\u2066a\u2069', '\\u2066a\\u2069'],
  ['a\u200e\u200fb\u200b\ufeffc', 'a\\u200e\\u200fb\\u200b\\ufeffc'],
  ['a\u2028b\u2029c\u0085d', 'a\\u2028b\\u2029c\\x85d'],
  ['tag\u{e0041}', 'tag\\u{e0041}'],
  ['half \ud800', 'half \\ud800'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown)
})

test.each(['order 7, größer, 日本語, 🙂', 'a\\x1b stays', 'שלום'])('%j stays as it is', (text) => {
  expect(visible(text)).toBe(text)
})
