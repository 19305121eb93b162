// The text of a plan's filter, taken apart: conditions between its outermost ANDs. Pure. The text is Postgres' own, so
// quotes and parentheses are well formed, and AND never stands beside OR without parentheses.

/** Calls `each` with every character outside of quotes, its place, and how many parentheses are open around it. */
function walk(text: string, each: (character: string, at: number, depth: number) => void): void {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === "'" || character === '"') {
      // A doubled quote ends one literal and begins the next, which comes to the same; E'…' may hold \'.
      const escapes = character === "'" && /(^|[^A-Za-z0-9_])E$/.test(text.slice(Math.max(0, at - 2), at))
      for (at++; at < text.length && text[at] !== character; at++) if (escapes && text[at] === '\\') at++
      continue
    }
    if (character === ')' || character === ']') depth--
    each(character, at, depth)
    if (character === '(' || character === '[') depth++
  }
}

/** Without parentheses that hold all of it. */
export function bare(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('(')) return trimmed
  let end = -1
  walk(trimmed, (character, at, depth) => {
    if (end < 0 && character === ')' && depth === 0) end = at
  })
  return end === trimmed.length - 1 ? bare(trimmed.slice(1, -1)) : trimmed
}

/** `(a = 1) AND (b OR c)` as its two parts; a text without an outermost AND is one. */
export function conditionsOf(filter: string): string[] {
  const text = bare(filter)
  const cuts: number[] = []
  walk(text, (_, at, depth) => {
    if (depth === 0 && text.startsWith(' AND ', at)) cuts.push(at)
  })
  if (cuts.length === 0) return [text]
  return [...cuts, text.length].map((cut, i) => bare(text.slice(i === 0 ? 0 : (cuts[i - 1] as number) + 5, cut)))
}

/** It holds what only the plan itself can evaluate: a subquery, or a value that another part of it found. */
export function needsThePlan(condition: string): boolean {
  let outside = ''
  walk(condition, (character) => {
    outside += character
  })
  return /\b(SubPlan|InitPlan|alternatives:)|\$\d|\bhashed\b/.test(outside)
}

/** Columns of the table that a condition reads, as they are written: `state`, `"Weird name"`. */
export function columnsIn(condition: string, alias: string): string[] {
  const found = new Set<string>()
  for (const { column } of references(condition, alias)) found.add(column)
  return [...found]
}

/** The condition for people: without the table's name before each column, and without casts of literals. */
export function shown(condition: string, alias: string): string {
  let text = ''
  let last = 0
  for (const { from, column, to } of references(condition, alias)) {
    text += condition.slice(last, from) + column
    last = to
  }
  text += condition.slice(last)
  return bare(text).replace(
    /('(?:[^']|'')*')::(?:"[^"]+"|[a-z_][\w.]*(?: with(?:out)? time zone| varying)?)(?![\w.[])/g,
    '$1',
  )
}

/** Where `alias.column` stands outside of literals. */
function references(condition: string, alias: string): { from: number; to: number; column: string }[] {
  const prefixes = [`${alias}.`, `"${alias.replaceAll('"', '""')}".`]
  const found: { from: number; to: number; column: string }[] = []
  let literal = false
  for (let at = 0; at < condition.length; at++) {
    if (condition[at] === "'") literal = !literal
    if (literal || /[\w.$"]/.test(condition[at - 1] ?? ' ')) continue
    const prefix = prefixes.find((each) => condition.startsWith(each, at))
    const [column] =
      (prefix && /^("(?:[^"]|"")+"|[\p{L}_][\p{L}\w$]*)/u.exec(condition.slice(at + prefix.length))) || []
    if (!prefix || !column) continue
    found.push({ from: at, to: at + prefix.length + column.length, column })
    at += prefix.length + column.length - 1
  }
  return found
}
