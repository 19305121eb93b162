// Lists that travel as one text, and what cannot.
import { expect, test } from 'vitest'
import { inOrder } from '../../../../../src/drivers/postgres/store/claims/lock-order.ts'
import { orderedTexts, textArray } from '../../../../../src/drivers/postgres/store/list-encoding.ts'

test('an array of texts keeps quotes and backslashes', () => {
  expect(textArray([])).toBe('{}')
  expect(textArray(['a', 'b c'])).toBe('{"a","b c"}')
  expect(textArray(['a"b', 'c\\d'])).toBe('{"a\\"b","c\\\\d"}')
})

test('texts that come in the order of their bytes travel as one', () => {
  expect(orderedTexts(['1', '10', '9', 'B', 'a'])).toBe(['1', '10', '9', 'B', 'a'].join('\u001e'))
  expect(orderedTexts(['b', 'a'])).toBeNull()
  expect(inOrder(['10', '9', 'B', 'a', '1'])).toEqual(['1', '10', '9', 'B', 'a'])
})

test.each([
  ['an empty one: nothing would come out of it', ['']],
  ['one that holds the divider', ['a', 'b\u001ec']],
  ['one that JavaScript has in another place than Postgres', ['\u{1f600}', '\ue000']],
  ['a line break', ['a\n']],
])('texts do not travel as one with %s', (_name, texts) => {
  expect(orderedTexts(texts)).toBeNull()
})
