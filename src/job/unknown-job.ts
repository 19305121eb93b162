// A job's name that nobody knows: the error says which one was probably meant.
import { RegrowError } from '../base/errors.ts'
import { nearest } from '../base/suggest.ts'

/** The error for a name that is not among `known`, with the nearest of them. */
export function unknownJob(name: string, known: readonly string[]): RegrowError {
  const guess = nearest(name, known)
  const listed = known.slice(0, 20).join(', ') + (known.length > 20 ? ', …' : '')
  return new RegrowError(
    'unknown_job',
    `There is no job "${name}"`,
    guess ? `Did you mean "${guess}"?` : known.length > 0 ? `Known are: ${listed}` : 'No job is known yet.',
  )
}
