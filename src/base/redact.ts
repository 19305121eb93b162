// Takes secrets out of text before it is stored, logged or shown. No quantifier is unbounded, and no more than so much is read: hostile
// text cannot stall this.
// Where a value may be cut off by the end of the text, the end closes it: what is left of a secret is still a secret.

/** Words that names of secrets contain: `db_password`, `clientSecret`, `PGPASS`. `pass` only as the end of a word: not `passed`. */
const secretWord =
  'password|passwd|passphrase|passcode|pass(?![a-z])|pwd|secret|token|credential|(?<![a-z])_auth(?![a-z])|session[_-]?id|signature|' +
  // Behind these a colon is mostly part of a sentence, unless they are quoted.
  `(?<![a-z])(?:auth|sig)(?=\\s{0,4}=|\\\\{0,8}["']\\s{0,4}:)|` +
  '(?:api|private|access|account|signing|encryption|master|shared|service|ssh|client|auth|subscription)[_-]?key'

/** A value in quotes (also in quotes that are escaped, as JSON in JSON has them) or brackets. */
const quoted = [
  `"(?:[^"\\\\]|\\\\[\\s\\S]){0,8000}(?:"|\\\\?$)`,
  `'(?:[^'\\\\]|\\\\[\\s\\S]){0,8000}(?:'|\\\\?$)`,
  '`[^`]{0,8000}(?:`|$)',
  `(?<escaped>\\\\{1,8}["'])[\\s\\S]{0,8000}?(?:(?<!\\\\)\\k<escaped>|$)`,
].join('|')
const bracketed = ['\\[[^\\]]{0,8000}(?:\\]|$)', '\\{[^}]{0,8000}(?:\\}|$)', '\\([^)]{0,8000}(?:\\)|$)'].join('|')
/** A bare value goes on behind a comma or an ampersand, unless the next name begins there. */
const bare = `(?:[^\\s,;&}]|[,;&}]{1,20}(?=[^\\s,;&})\\]])(?!["']?[a-z_][\\w.-]{0,60}["']?\\s?[:=])){1,20000}`

/** A text of SQL: a quote is doubled in it, or it stands between dollar signs. */
const sqlQuoted = [
  `'(?:[^']|''){0,8000}(?:'|$)`,
  `"(?:[^"]|""){0,8000}(?:"|$)`,
  '\\$(?<tag>\\w{0,30})\\$[\\s\\S]{0,8000}?(?:\\$\\k<tag>\\$|$)',
].join('|')

/** From a name to its value: `"name": `, `name = `, `'name' => `, `(name)=`. */
const separator = `\\\\{0,8}["'\\])]{0,2}\\s{0,4}[:=]{1,2}>?\\s{0,4}`
/** Not what an earlier rule has put there. */
const unlessRedacted = '(?!\\[redacted)'

const rules: readonly (readonly [RegExp, string])[] = [
  [/-{4,5} ?BEGIN [\w ]{1,60}-{4,5}[\s\S]{0,100000}?(?:-{4,5} ?END [\w ]{1,60}-{4,5}|$)/g, '[redacted key]'],
  // `{"` in Base64: a JSON web token, with its other parts, or a part of one.
  [/eyJ[\w+/=-]{10,20000}(?:\.[\w+/=-]{0,20000}){0,4}/g, '[redacted token]'],
  [
    /(?<![A-Za-z0-9])(?:[rsp]k[_-](?:live|test|proj|ant|svcacct)[_-][\w-]{6,400}|sk-\w{20,400}|whsec_[\w+/=-]{8,400}|gh[oprsu]_\w{20,400}|github_pat_\w{20,400}|glpat-[\w-]{15,400}|xox[a-z]-[\w-]{10,400}|npm_\w{30,400}|AIza[\w-]{30,400}|SG\.[\w-]{10,400}\.[\w-]{10,400}|A(?:KIA|SIA|ROA|IDA)[A-Z0-9]{12,128})/g,
    '[redacted token]',
  ],
  // Without a scheme it is told from an e-mail address by what is behind the host.
  [/(?<![\w.+%-])([\w.+%-]{2,64}):[^\s/"]{1,256}@(?=[\w.-]{1,255}(?::\d|\/\w))/g, '$1:[redacted]@'],
  // SQL says it with blanks: password 'x', identified with plugin by 'x'.
  [
    pattern(
      `\\b((?:(?:password|passwd|passphrase|secret)|identified(?: with [\\w'"\`-]{1,64})? (?:by|as)(?: password)?)\\s{1,20})(?:e|u&)?(?:${sqlQuoted})`,
    ),
    '$1[redacted]',
  ],
  [pattern(`(password\\s{0,4}[:=]{1,2}\\s{0,4})password\\s{0,4}\\([^)]{0,8000}(?:\\)|$)`), '$1[redacted]'],
  [pattern(`(authorization${separator})(?:${quoted}|[^\\r\\n]{1,20000})`), '$1[redacted]'],
  [/\b(bearer|basic)(\s{1,20}["']?)[\w+/=.~-]{4,20000}/gi, '$1$2[redacted]'],
  [/\b((?:set-)?cookie["']?\s{0,4}:\s{0,4})[^\r\n]{1,20000}/gi, '$1[redacted]'],
  [
    pattern(`((?:${secretWord}|cookie)[\\w-]{0,60}${separator})${unlessRedacted}(?:${quoted}|${bracketed}|${bare})`),
    '$1[redacted]',
  ],
  [
    pattern(`(--[\\w-]{0,40}(?:${secretWord})[\\w-]{0,40}\\s{1,4})${unlessRedacted}(?:${quoted}|\\S{1,20000})`),
    '$1[redacted]',
  ],
  [
    pattern(`(<[\\w:-]{0,80}(?:${secretWord})[\\w-]{0,40}(?:\\s[^<>]{0,400})?>)${unlessRedacted}[^<]{1,20000}`),
    '$1[redacted]',
  ],
]

function pattern(source: string): RegExp {
  return new RegExp(source, 'gi')
}

/** Characters of an address from its scheme to its @, at most. */
const addressMost = 1_000
const begin = /:\/{1,3}/g
const user = /[^\s:@/]{0,1000}/y
/** The port of a web address is no password, nor is the word itself in an example. */
const harmless = /password@|\d{1,5}[/?#]/iy

/**
 * Passwords in addresses. One may hold any character of an address: it ends at the last @ of its word, or in front of a quote where there
 * is one. Who is named alone in a web address is no user, but a token. In one go over the text: each character is looked at a few times.
 */
function withoutCredentials(text: string): string {
  let clean = ''
  let done = 0
  /** Where the next of them is, from where it was looked for last. */
  const next = { '@': -1, ' ': -1, '"': -1 }
  const find = (what: keyof typeof next, pattern: RegExp, from: number) => {
    if (next[what] < from) {
      pattern.lastIndex = from
      next[what] = pattern.exec(text)?.index ?? text.length
    }
    return next[what]
  }
  for (const { 0: slashes, index } of text.matchAll(begin)) {
    const from = index + slashes.length
    if (from < done) continue
    const first = find('@', /@/g, from)
    const end = Math.min(find(' ', /\s/g, from), from + addressMost)
    if (first === from || first >= end) continue
    const quote = find('"', /["<>]/g, from)
    // Never behind the first of them: whoever looks for what is not there walks back to the beginning.
    const at = text.lastIndexOf('@', (first < quote ? Math.min(quote, end) : end) - 1)
    user.lastIndex = from
    const colon = from + (user.exec(text)?.[0].length ?? 0)
    const isWeb = /https?$/i.test(text.slice(Math.max(0, index - 5), index))
    if (text[colon] === ':' && colon < at) {
      harmless.lastIndex = colon + 1
      const found = harmless.exec(text)?.[0]
      if (found !== undefined && (isWeb || found.endsWith('@'))) continue
      clean += `${text.slice(done, colon)}:[redacted]`
      done = at
    } else if (text[colon] === '@' && isWeb) {
      clean += `${text.slice(done, from)}[redacted]`
      done = colon
    }
  }
  return clean + text.slice(done)
}

/** Characters that are read. More is no text for people, and would keep the process from beating. */
const charactersMost = 65_536
/** So many at the end of what was cut are left out: a secret there may not be known by its beginning alone. */
const tail = 2_000

/** `text` with passwords, tokens, keys and credentials in addresses replaced; what is longer than 64 K is cut. */
export function redact(text: string): string {
  if (text.length <= charactersMost) return clean(text)
  const left = clean(text.slice(0, charactersMost)).slice(0, -tail)
  return `${left}… (${text.length - charactersMost + tail} more characters)`
}

const clean = (text: string): string =>
  rules.reduce((text, [rule, replacement]) => text.replace(rule, replacement), withoutCredentials(text))
