// Progress lines of the services go to stderr, so that a program's own output stays clean.

export function log(line: string): void {
  process.stderr.write(`[services] ${line}\n`)
}
