// A key as people name it: typed, as `quarantine list` prints it, or as JSON. Out: its canonical text.
import type { KeyCodec } from '../../job/key.ts'

/** Throws what was expected and found; a key may be longer than keys are, if it is one of a row. */
export function keyOf({ columns, textOf, decode }: KeyCodec, given: unknown): string {
  // A text is itself where the key has one column; of several columns it is JSON.
  if (columns.length === 1 && columns[0]?.name === null)
    return textOf(typeof given === 'string' ? decode(given) : given)
  const parts = typeof given === 'string' ? parsed(given) : given
  if (!Array.isArray(parts) || parts.length !== columns.length) return textOf(parts)
  return textOf(Object.fromEntries(columns.map(({ name }, i) => [name as string, parts[i] as unknown])))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
