// Lists as Postgres reads them from one text parameter: unnest of these costs a third of what rows of JSON do.

/** Texts as an array of them, each in quotes: whether one needs them costs more to find out. */
export function textArray(texts: readonly string[]): string {
  if (texts.length === 0) return '{}'
  const whole = texts.join('')
  const plain = !whole.includes('"') && !whole.includes('\\')
  return `{"${(plain ? texts : texts.map((text) => text.replace(/[\\"]/g, '\\$&'))).join('","')}"}`
}

/** Numbers as an array of them. */
export const numberArray = (numbers: readonly number[]): string => `{${numbers.join(',')}}`

/** Stands between texts that hold none of it: neither an id nor JSON does. */
export const divider = '\u001e'

/**
 * Texts as one, for `string_to_array(…, chr(30))`: half of what an array of them costs. Null: they are not in order, or one of them is
 * empty or holds other than plain characters.
 */
export function orderedTexts(texts: readonly string[]): string | null {
  return areOrdered(texts) ? texts.join(divider) : null
}

/** Each once, in the order of `collate "C"`, of plain characters only: JavaScript has others in another order. */
export const areOrdered = (texts: readonly string[]): boolean =>
  areAscending(texts) && texts.every((text) => isPlain.test(text))

/** Texts in the order that JavaScript has. */
export const inOrder = (texts: readonly string[]): readonly string[] =>
  areAscending(texts) ? texts : texts.toSorted((a, b) => (a < b ? -1 : 1))

const areAscending = (texts: readonly string[]): boolean =>
  texts.every((text, i) => i === 0 || (texts[i - 1] as string) < text)

const isPlain = /^[\x20-\x7e]+$/
