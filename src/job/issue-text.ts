// What a schema says against an input, in one line: the field, where there is one, and the complaint.
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** `to: expected text`, or only the complaint when it is about the whole input. */
export function issueText(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return path ? `${path}: ${issue.message}` : issue.message
}
