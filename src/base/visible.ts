// Text that cannot act on whatever shows it: names, keys and errors come from anywhere.

/**
 * Controls (a terminal obeys them), formats (overrides of the writing direction show one text as another, joiners have no width
 * at all), line and paragraph separators, and halves of a character.
 */
const acting = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** `text` on one line, with every character that moves the cursor, turns the writing round or cannot be seen as its number. */
export const visible = (text: string): string => text.replace(acting, escaped)

function escaped(character: string): string {
  const code = character.codePointAt(0) as number
  const digits = code.toString(16)
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\u{${digits}}`
}
