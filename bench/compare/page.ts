// bench/RESULTS.md: one section per comparison, each written by its own run; the others stay as they are.

const opening = '# Results\n\nHow it is measured: [docs/benchmarks.md](../docs/benchmarks.md).\n'

/** The page with that section in it, in the place of an older one or at the end; `page` may be empty. */
export function withSection(page: string, name: string, section: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const whole = `${begin}\n\n${section}\n\n${end}\n`
  const from = page.indexOf(begin)
  const until = page.indexOf(end)
  if (from >= 0 && until > from) return page.slice(0, from) + whole + page.slice(until + end.length + 1)
  return `${(page.trim() === '' ? opening : page).trimEnd()}\n\n${whole}`
}
