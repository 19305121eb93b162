// Just enough of SQL's words to move parameters and table names in a query without touching its strings and comments.
// In: a statement's text. Out: its pieces in order, which joined are the text again.

/** One piece of a statement. Names are as written: quoted, or not. */
export interface Token {
  readonly kind: 'parameter' | 'name' | 'space' | 'string' | 'other'
  readonly text: string
}

type Patterns = readonly (readonly [Token['kind'], RegExp])[]

/** A string goes on in the next line, with the escapes that it began with. */
const escaped =
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'(?:[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'(?:[^'\\]|\\[\s\S]|'')*')*/y

const patterns: Patterns = [
  ['space', /\s+|--[^\n\r]*/y],
  ['string', escaped],
  ['string', /'(?:[^']|'')*'/y],
  ['string', /\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$[\s\S]*?\$\1\$/y],
  ['parameter', /\$\d+/y],
  ['name', /"(?:[^"]|"")*"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y],
]

/** With standard_conforming_strings = off a backslash escapes in every string. One without an end is the rest of the text. */
const escapingPatterns: Patterns = [['string', /[eE]?'(?:[^'\\]|\\[\s\S]|'')*(?:'|\\?$)/y], ...patterns]

/** The pieces of a statement. Text that is no SQL comes back whole, in pieces of one character. */
export function tokens(text: string): Token[] {
  const found: Token[] = []
  for (let at = 0; at < text.length; ) {
    const token = tokenAt(text, at)
    found.push(token)
    at += token.text.length
  }
  return found
}

/** The piece that begins at `at`. `escapes`: as with standard_conforming_strings = off. */
export function tokenAt(text: string, at: number, escapes = false): Token {
  if (text.startsWith('/*', at)) return { kind: 'space', text: text.slice(at, commentEnd(text, at)) }
  for (const [kind, pattern] of escapes ? escapingPatterns : patterns) {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) return { kind, text: match[0] }
  }
  return { kind: 'other', text: text[at] as string }
}

/** Comments nest. */
function commentEnd(text: string, at: number): number {
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const two = text.slice(i, i + 2)
    if (two === '/*') depth++
    else if (two === '*/' && --depth === 0) return i + 2
    else continue
    i++
  }
  return text.length
}

/** The text with `$1` as `$(1 + by)`, and so on: several queries in one statement keep their own values. */
export function shifted(text: string, by: number): string {
  return tokens(text)
    .map((token) => (token.kind === 'parameter' ? `$${Number(token.text.slice(1)) + by}` : token.text))
    .join('')
}

/** The text with `schema.table` as the quoted table alone: a WITH of that name then takes its place. */
export function unqualified(text: string, schema: string, table: string): string {
  const list = tokens(text)
  const next = (at: number) => list.findIndex((token, i) => i > at && token.kind !== 'space')
  /** Where `.table` ends, when that is what follows. */
  const dotted = (at: number): number | undefined => {
    const dot = next(at)
    const name = next(dot)
    const { kind, text } = list[name] ?? { kind: 'other', text: '' }
    return list[dot]?.text === '.' && kind === 'name' && plainName(text) === table ? name : undefined
  }
  const out: string[] = []
  for (let i = 0; i < list.length; i++) {
    const token = list[i] as Token
    const end = token.kind === 'name' && plainName(token.text) === schema ? dotted(i) : undefined
    out.push(end === undefined ? token.text : quoted(table))
    i = end ?? i
  }
  return out.join('')
}

const plainName = (text: string) =>
  text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text.toLowerCase()

/** A name as SQL has to write it, whatever is in it. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
