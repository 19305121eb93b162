// Lists that travel as one text, and what cannot.
import { expect, test } from 'vitest'
import { dividedTexts, orderedTexts, textArray } from '../../../../src/store/sql/array-text.ts'

test('an array of texts keeps quotes and backslashes', () => {
  expect(textArray([])).toBe('{}')
  expect(textArray(['a', 'b c'])).toBe('{"a","b c"}')
  expect(textArray(['a"b', 'c\\d'])).toBe('{"a\\"b","c\\\\d"}')
})

test('texts are divided in the order in which they come, unless one of them holds the divider', () => {
  expect(dividedTexts(['b', '', 'é'])).toBe('b\u001e\u001eé')
  expect(dividedTexts(['a', 'b\u001ec'])).toBeNull()
})

test('texts in order come in that of their bytes, whatever order they had', () => {
  expect(orderedTexts(['10', '9', 'B', 'a', '1'])).toBe(['1', '10', '9', 'B', 'a'].join('\u001e'))
  expect(orderedTexts(['a', 'b'])).toBe('a\u001eb')
})

test.each([
  ['an empty one: nothing would come out of it', ['']],
  ['one that holds the divider', ['a', 'b\u001ec']],
  ['one that JavaScript has in another place than Postgres', ['\ue000', '\u{1f600}']],
  ['a line break', ['a\n']],
])('texts are not put in order with %s', (_name, texts) => {
  expect(orderedTexts(texts)).toBeNull()
})
