// Takes secrets out of text before it is stored, logged or shown. No quantifier is unbounded: hostile text cannot stall them.

const rules: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{1,40}-----[\s\S]{0,8000}?(?:-----END [A-Z ]{1,40}-----|$)/g, '[redacted key]'],
  [/(?<![\w-])eyJ[\w-]{5,2000}\.[\w-]{5,4000}\.[\w-]{0,2000}/g, '[redacted token]'],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,256}):[^\s@/]{1,512}@/gi, '$1:[redacted]@'],
  [/\b(bearer|basic)\s{1,20}[\w+/=.~-]{4,4000}/gi, '$1 [redacted]'],
  [/\b((?:set-)?cookie["']?\s{0,4}:\s{0,4})[^\r\n]{1,4000}/gi, '$1[redacted]'],
  [
    /(["']?\b[\w-]{0,40}(?:password|passwd|secret|token|authorization|api[_-]?key|cookie)[\w-]{0,40}["']?\s{0,4}[:=]\s{0,4})("(?:[^"\\]|\\.){0,4000}"|'(?:[^'\\]|\\.){0,4000}'|[^\s,;&}]{1,4000})/gi,
    '$1[redacted]',
  ],
]

/** `text` with passwords, tokens, keys and credentials in addresses replaced. */
export function redact(text: string): string {
  return rules.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text)
}
