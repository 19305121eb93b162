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
