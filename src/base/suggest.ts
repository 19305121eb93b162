// Unknown options get a guess: a misspelt option that is ignored is a setting that silently does not hold.

/** One sentence per key of `given` that is not in `known`, with the nearest known name. */
export function unknownOptions(given: object, known: readonly string[], where: string): string[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const guess = nearest(name, known)
      const advice = guess ? `did you mean "${guess}"?` : `known are: ${known.join(', ')}`
      return `${where}: unknown option "${name}"; ${advice}`
    })
}

/** What kind of value it is, for an error that must not show the value itself: `null`, `an array`, `a number`. */
export function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** `value` where its properties can be read: an object that is not an array. */
export const isOptions = (value: unknown): boolean => typeof value === 'object' && value !== null && !isArray(value)

/** A proxy that was revoked is none. */
function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** The known name with the fewest edits to `name`, if it is near enough to be a slip; else the only one that begins with it. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, edits: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best && best.edits <= Math.max(2, Math.floor(name.length / 3))) return best.candidate
  const longer = known.filter((candidate) => candidate.toLowerCase().startsWith(name.toLowerCase()))
  return name.length >= 3 && longer.length === 1 ? longer[0] : undefined
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++)
      current[j] = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    previous = current
  }
  return previous[b.length] as number
}
