// Takes secrets out of text before it is stored, logged or shown. No quantifier is unbounded: hostile text cannot stall them.
// Where a value may be cut off by the end of the text, the end closes it: what is left of a secret is still a secret.

/** Words that names of secrets contain: `db_password`, `clientSecret`, `PGPASS`. `pass` only as the end of a word: not `passed`. */
const secretWord =
  'password|passwd|passphrase|passcode|pass(?![a-z])|pwd|secret|token|credential|(?<![a-z])_auth(?![a-z])|session[_-]?id|signature|' +
  '(?:api|private|access|account|signing|encryption|master|shared|service|ssh|client)[_-]?key'

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
  // A password may hold any character of an address: it ends at the last @. The port of a web address is none, nor is the word itself in an
  // example.
  [
    /(:\/{1,3}[^\s:@/]{0,1000}):(?!password@)(?!(?<=\bhttps?:\/\/[^\s:@/]{0,1000}:)\d{1,5}[/?#])(?:[^\s"<>]{1,1000}|\S{1,1000})@/gi,
    '$1:[redacted]@',
  ],
  // Without a scheme it is told from an e-mail address by what is behind the host.
  [/(?<![\w.+%-])([\w.+%-]{2,64}):[^\s/"]{1,256}@(?=[\w.-]{1,255}(?::\d|\/\w))/g, '$1:[redacted]@'],
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

/** `text` with passwords, tokens, keys and credentials in addresses replaced. */
export function redact(text: string): string {
  return rules.reduce((clean, [rule, replacement]) => clean.replace(rule, replacement), text)
}
