// Conditions of a plan, as the server prints them, taken apart: which of them an index may have as its own. Pure. What is
// not understood is left out, never guessed: an index with too few conditions is larger than need be, one with a wrong one is
// of no use.

/** What one condition of a scan is to an index. */
export type Condition =
  /** Always the same, of this table alone: it may be the condition of a partial index. */
  | { readonly kind: 'fixed'; readonly text: string }
  /** A column against a time that moves: no index condition can hold it; the column can be in the index. */
  | { readonly kind: 'moving'; readonly column: string; readonly text: string }
  /** A column that has to equal one of another table, or a key that is looked for. */
  | { readonly kind: 'lookup'; readonly column: string }
  /** Functions, subqueries, comparisons of two columns. */
  | { readonly kind: 'other'; readonly text: string }

const name = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*)`
const typeName = String.raw`(?:${name}\.)?${name}(?: varying| precision| with(?:out)? time zone)?(?:\(\d+(?:,\d+)?\))?(?:\[\])*`
const tokenPattern = new RegExp(
  [
    String.raw`\s+`,
    `E?'(?:[^']|'')*'`,
    String.raw`\d+(?:\.\d+)?`,
    `::${typeName}`,
    String.raw`${name}\.${name}(?![\w$\x22(])`,
    String.raw`(?:AND|OR|NOT|IS|NULL|ANY|ALL|true|false|TRUE|FALSE|UNKNOWN|DISTINCT|FROM)\b`,
    // Of text alone, whatever the settings of the server are.
    String.raw`(?:lower|upper|length|COALESCE)(?=\()`,
    '->>|->|@>|<@|&&|<>|<=|>=|=|<|>|!?~~?\\*?',
    '[(),]',
  ].join('|'),
  'y',
)
const columnPattern = new RegExp(String.raw`(${name})\.(${name})(?![\w$\x22]|\s*\()`, 'g')
const casts = new RegExp(`::${typeName}`, 'g')
/** The clocks of Postgres, and ours. */
const clocks =
  /\b(?:now|clock_timestamp|transaction_timestamp|statement_timestamp|clock)\(\)|\b(?:CURRENT_(?:TIMESTAMP|DATE)|LOCALTIMESTAMP)\b/
const timeLiteral = /'::(?:timestamp|date|time)\b/

/** The parts of a condition that all have to hold. */
export function conjuncts(text: string): string[] {
  const inner = unwrapped(text)
  const parts = splitAt(inner, ' AND ')
  return parts.length === 1 ? [inner] : parts.flatMap(conjuncts)
}

/** What a conjunct is to an index on the table that the plan calls `alias`; `columns` are the types of its columns. */
export function judge(conjunct: string, alias: string, columns: Readonly<Record<string, string>>): Condition {
  const text = unwrapped(conjunct)
  const { own, foreign } = mentioned(text, alias)
  const [column] = own
  const words = withoutLiterals(text)
  const readable = /SubPlan/.test(words) ? 'a subquery' : plain(text, alias, columns)
  if (column === undefined) return { kind: 'other', text: readable }
  const equals = equality(text, alias)
  if (equals !== undefined && (foreign || /\$\d/.test(words) || /^ANY \(/.test(equals.other)))
    return isListOfLiterals(equals.other) ? fixed(text, alias, columns) : { kind: 'lookup', column: equals.column }
  if (foreign || /\$\d|SubPlan/.test(words)) return { kind: 'other', text: readable }
  const moves = clocks.test(words) || (timeLiteral.test(words) && /[<>]/.test(words))
  if (moves)
    return own.length === 1 && isCompared(words, alias)
      ? { kind: 'moving', column, text: readable }
      : { kind: 'other', text: readable }
  return fixed(text, alias, columns)
}

/** Columns of that table that a condition names, and whether it names another table's. */
export function mentioned(text: string, alias: string): { own: string[]; foreign: boolean } {
  const found = [...withoutLiterals(text).replace(casts, '').matchAll(columnPattern)]
  const own = found.flatMap(([, table = '', column = '']) => (bare(table) === alias ? [bare(column)] : []))
  return { own: [...new Set(own)], foreign: own.length < found.length }
}

/** The columns of a join's condition that belong to `alias`. */
export function joinedColumns(text: string, alias: string): string[] {
  return conjuncts(text).flatMap((part) => equality(unwrapped(part), alias)?.column ?? [])
}

/** `a.b` where it is an equality of that table's column with something else. */
function equality(text: string, alias: string): { column: string; other: string } | undefined {
  const [left, right, ...more] = splitAt(text, ' = ')
  if (left === undefined || right === undefined || more.length > 0) return undefined
  const sides: [string, string][] = [
    [left, right],
    [right, left],
  ]
  for (const [side, other] of sides) {
    const match = new RegExp(String.raw`^\(?(${name})\.(${name})\)?(?:::${typeName})?$`).exec(unwrapped(side))
    if (match && bare(match[1] as string) === alias) return { column: bare(match[2] as string), other }
  }
  return undefined
}

/** Every mention of the column stands by itself on one side of a comparison: what is computed from it no index of it finds. */
function isCompared(words: string, alias: string): boolean {
  const column = String.raw`(?:${escaped(alias)}|"${escaped(alias.replaceAll('"', '""'))}")\.${name}`
  const alone = new RegExp(String.raw`(?:^|\()${column} (?:[<>]=?|=|IS) |[<>=] ${column}(?=\)|$)`, 'g')
  return words.match(alone)?.length === words.match(new RegExp(`(?<![\\w$"])${column}`, 'g'))?.length
}

const isListOfLiterals = (other: string) => /^ANY \('\{/.test(other)

/** Every word of it is known to mean the same at all times, or it is left out. */
function fixed(text: string, alias: string, columns: Readonly<Record<string, string>>): Condition {
  let at = 0
  const printed = plain(text, alias, columns)
  tokenPattern.lastIndex = 0
  while (at < text.length) {
    tokenPattern.lastIndex = at
    const token = tokenPattern.exec(text)?.[0]
    if (token === undefined) return { kind: 'other', text: printed }
    at += token.length
  }
  // The text of an enum or a number may change with the server's settings; that of a varchar is itself.
  const cast = new RegExp(String.raw`\(${name}\.(${name})\)::(${typeName})`, 'g')
  for (const [, column = '', type] of text.matchAll(cast))
    if (type !== 'text' || !isText(columns[bare(column)])) return { kind: 'other', text: printed }
  return { kind: 'fixed', text: printed }
}

/** Without the alias, and without casts that the server adds by itself: `(o.kind)::text = 'a'::text` is `kind = 'a'`. */
function plain(text: string, alias: string, columns: Readonly<Record<string, string>>): string {
  const prefix = new RegExp(
    String.raw`(?:\b${escaped(alias)}|"${escaped(alias.replaceAll('"', '""'))}")\.(?=${name})`,
    'g',
  )
  return outsideLiterals(text, (part) => part.replace(prefix, ''))
    .replace(
      new RegExp(String.raw`\((${name})\)::text (=|<>) ('(?:[^']|'')*')::text`, 'g'),
      (whole, column: string, sign, value) => (isText(columns[bare(column)]) ? `${column} ${sign} ${value}` : whole),
    )
    .replace(new RegExp(`^(${name}) (=|<>) ('(?:[^']|'')*')::${typeName}$`), '$1 $2 $3')
}

const isText = (type: string | undefined) => /^(character varying|character|text)/.test(type ?? '')

/** Two conditions that differ in casts and parentheses only are the same to a reader. */
export const sameCondition = (one: string | null, other: string | null): boolean =>
  (one === null) === (other === null) && squeezed(one ?? '') === squeezed(other ?? '')

const squeezed = (text: string) =>
  withoutCasts(text)
    .replaceAll(/[()\s"]/g, '')
    .toLowerCase()

/** For names: `(kind)::text = 'a'::text` is `(kind) = 'a'`. */
export const withoutCasts = (text: string): string => text.replace(casts, '')

const bare = (identifier: string) =>
  identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

const literal = /E?'(?:[^']|'')*'/g

const withoutLiterals = (text: string) => text.replaceAll(literal, "''")

function outsideLiterals(text: string, change: (part: string) => string): string {
  let done = ''
  let at = 0
  for (const match of text.matchAll(literal)) {
    done += change(text.slice(at, match.index)) + match[0]
    at = match.index + match[0].length
  }
  return done + change(text.slice(at))
}

/** Without the parentheses around all of it. */
function unwrapped(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('(') || closing(trimmed) !== trimmed.length - 1) return trimmed
  return unwrapped(trimmed.slice(1, -1))
}

/** Where the first parenthesis is closed. */
function closing(text: string): number {
  let depth = 0
  for (const { index, at } of parentheses(text)) {
    depth += at === '(' ? 1 : -1
    if (depth === 0) return index
  }
  return -1
}

function* parentheses(text: string): Generator<{ index: number; at: string }> {
  for (const { index, 0: at } of text.matchAll(/E?'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]/g))
    if (at === '(' || at === ')') yield { index, at }
}

/** Splits where `word` stands outside of parentheses and literals. */
function splitAt(text: string, word: string): string[] {
  const parts: string[] = []
  let [depth, from] = [0, 0]
  for (const { index, 0: at } of text.matchAll(new RegExp(`E?'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]|${word}`, 'g'))) {
    if (at === '(') depth++
    else if (at === ')') depth--
    else if (at === word && depth === 0) {
      parts.push(text.slice(from, index))
      from = index + word.length
    }
  }
  return [...parts, text.slice(from)]
}
