// Reads source files for architecture.test.ts: their imports, and their code with comments and strings blanked out,
// so that a rule never trips over an example in a comment or a template.

export interface Import {
  readonly spec: string
  /** Path inside src for a relative import, such as `store/ledger.ts`; undefined for packages. */
  readonly target: string | undefined
  readonly typeOnly: boolean
}

export interface SourceFile {
  /** Path inside src, with forward slashes. */
  readonly path: string
  readonly text: string
  /** The text, same length, without comments and without what is inside strings. */
  readonly code: string
  readonly imports: readonly Import[]
}

export function scan(path: string, text: string): SourceFile {
  const code = blank(text)
  return { path, text, code, imports: importsOf(path, text, code) }
}

const IMPORT = /\b(import|export)\b([^'"`;=]*?\bfrom\s*|\s*\(\s*|\s*)(['"])([^'"\n]*)\3/g

function importsOf(path: string, text: string, code: string): Import[] {
  return [...code.matchAll(IMPORT)].map((match) => {
    // In `code` the specifier is blanked; its place is the same in `text`.
    const end = match.index + match[0].length - 1
    const spec = text.slice(end - (match[4] as string).length, end)
    return { spec, target: resolve(path, spec), typeOnly: /^\s+type\b/.test(match[2] as string) }
  })
}

function resolve(from: string, spec: string): string | undefined {
  if (!spec.startsWith('.')) return undefined
  const parts = from.split('/').slice(0, -1)
  for (const part of spec.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}

const TOKEN = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`|[{}]|\/(?![*/])/g
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/y

/** Blanks comments and the insides of strings, templates and regular expressions; keeps length and line breaks. */
function blank(text: string): string {
  const out = text.split('')
  const erase = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (out[i] !== '\n') out[i] = ' '
  }
  // One entry per open brace: true when it closes a `${`, which leads back into a template.
  const braces: boolean[] = []
  let at = 0

  const template = (from: number): number => {
    let i = from
    while (i < text.length && text[i] !== '`') {
      if (text.startsWith('${', i)) {
        erase(from, i)
        braces.push(true)
        return i + 2
      }
      i += text[i] === '\\' ? 2 : 1
    }
    erase(from, i)
    return i + 1
  }

  while (at < text.length) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (match === null) break
    const token = match[0]
    const start = match.index
    at = start + token.length
    if (token.startsWith('//') || token.startsWith('/*')) erase(start, at)
    else if (token === '{') braces.push(false)
    else if (token === '}') at = braces.pop() ? template(at) : at
    else if (token === '`') at = template(at)
    else if (token === '/') {
      REGEX.lastIndex = start
      const before = text.slice(0, start).trimEnd()
      const isDivision = /[\w)\]]$/.test(before) && !/\b(return|typeof|case)$/.test(before)
      if (!isDivision && REGEX.test(text)) {
        at = REGEX.lastIndex
        erase(start, at)
      }
    } else erase(start + 1, at - 1)
  }
  return out.join('')
}
