// Indexes are named by what they are, and names are cut: two of one report may be called the same. Each gets a name of its own. Pure.
import type { DoctorFinding } from './finding.ts'

const created = /^create index (?:concurrently )?("(?:[^"]|"")+"|\S+) on /

/** The same findings, in which no two different statements make an index of the same name in one schema. */
export function distinct(findings: readonly DoctorFinding[]): DoctorFinding[] {
  /** By the name, the statement that has it. */
  const taken = new Map<string, string>()
  return findings.map((finding) => {
    const { fix, hint } = finding
    const name = fix === null ? undefined : created.exec(fix)?.[1]
    if (fix === null || name === undefined) return finding
    for (let n = 1; ; n++) {
      const tried = n === 1 ? name : numbered(name, n)
      const statement = fix.replace(name, () => tried)
      const known = taken.get(`${schemaOf(fix)}.${tried}`)
      if (known !== undefined && known !== fix) continue
      taken.set(`${schemaOf(fix)}.${tried}`, fix)
      return { ...finding, fix: statement, hint: hint.replace(fix, () => statement) }
    }
  })
}

/** Names have 58 characters at most (missing-index.ts): there is room for a number. */
const numbered = (name: string, n: number) => (name.endsWith('"') ? `${name.slice(0, -1)}_${n}"` : `${name}_${n}`)

/** The table's, up to its dot: an index is in the schema of its table. */
const schemaOf = (fix: string) => / on ("(?:[^"]|"")+"|[^.\s]+)\./.exec(fix)?.[1] ?? ''
