// How old something is, as findings tell it.
import { readable } from '../base/duration.ts'

export const age = (since: Date, at: Date): number => at.getTime() - since.getTime()

export const ago = (since: Date, at: Date): string => `${readable(Math.max(0, age(since, at)))} ago`

/** What is over is told for this long: the on-call engineer still sees it. */
export const recentMs = 600_000
