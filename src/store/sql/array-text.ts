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

/** Texts as one, for `string_to_array(…, chr(30))`: half of what an array of them costs. Null: one of them holds the divider. */
export function dividedTexts(texts: readonly string[]): string | null {
  return texts.some((text) => text.includes(divider)) ? null : texts.join(divider)
}

/**
 * Texts in the order of `collate "C"` as one, for `string_to_array(…, chr(30))`. Null: one of them is empty, or holds other than plain
 * characters, which JavaScript has in another order.
 */
export function orderedTexts(texts: readonly string[]): string | null {
  if (!texts.every((text) => isPlain.test(text))) return null
  const isOrdered = texts.every((text, i) => i === 0 || (texts[i - 1] as string) <= text)
  return (isOrdered ? texts : texts.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))).join(divider)
}

const isPlain = /^[\x20-\x7e]+$/
