// A job's name that nobody knows: the error says which one was probably meant.
import { RegrowError } from '../base/errors.ts'
import { shown } from '../base/options.ts'
import { nearest } from '../base/suggest.ts'

/** The error for a name that is not among `known`, with the nearest of them. */
export function unknownJob(name: unknown, known: readonly string[]): RegrowError {
  if (typeof name !== 'string')
    return new RegrowError('bad_options', `The job is ${shown(name)}`, "Give its name, as in 'email.welcome'.")
  const guess = nearest(name, known)
  const listed = known.slice(0, 20).join(', ') + (known.length > 20 ? ', …' : '')
  return new RegrowError(
    'unknown_job',
    `There is no job "${name}"`,
    guess ? `Did you mean "${guess}"?` : known.length > 0 ? `Known are: ${listed}` : 'No job is known yet.',
  )
}
