// What the schema of a job says of an input. Schemas are written by others: an answer that is none is an error with a cure, and not a
// TypeError from inside.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { RegrowError } from '../base/errors.ts'
import { shown } from '../base/options.ts'
import type { Job } from './job.ts'

export type Answer = StandardSchemaV1.Result<unknown>

/** Most schemas answer at once. Throws, or rejects, with `bad_schema` where there is no answer, and with what the schema throws. */
export function askSchema({ name, input }: Pick<Job, 'name' | 'input'>, value: unknown): Answer | Promise<Answer> {
  const answer: unknown = (input as StandardSchemaV1)['~standard'].validate(value)
  if (typeof (answer as PromiseLike<unknown> | null | undefined)?.then === 'function')
    return (answer as Promise<unknown>).then((later) => checked(name, later))
  return checked(name, answer)
}

export const isLater = <T extends object>(answer: T | Promise<T>): answer is Promise<T> => 'then' in answer

function checked(job: string, answer: unknown): Answer {
  if (typeof answer === 'object' && answer !== null) {
    const { issues } = answer as { issues?: unknown }
    if (Array.isArray(issues) || (issues === undefined && 'value' in answer)) return answer as Answer
  }
  throw new RegrowError(
    'bad_schema',
    `The schema of "${job}" answered ${shown(answer)} instead of a result`,
    'Its `validate` has to return { value }, or { issues: [{ message }] } for what it refuses. Is a `return` missing?',
  )
}

/** `to: expected text`, or only the complaint when it is about the whole input. */
export function issueText(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return path ? `${path}: ${issue.message}` : issue.message
}
