// What is wrong with patterns, told where they are declared or added. It is the part of schedules that every process loads.
import { messageOf } from '../base/errors.ts'
import type { Job } from '../job/job.ts'
import { type PatternSpec, pattern } from './pattern.ts'

/** What is wrong with a schedule's pattern, as a sentence; null: nothing. */
export function patternMistake(spec: PatternSpec): string | null {
  try {
    pattern(spec)
    return null
  } catch (error) {
    return messageOf(error).replace('\n  → ', '. ')
  }
}

/** Mistakes in a job's pattern: bad cron text, an unknown zone, one that never fires. */
export function scheduleMistakes({ name, schedule }: Job): string[] {
  const mistake = schedule && (schedule.cron ?? schedule.everyMs) !== null && patternMistake(schedule)
  return mistake ? [`job "${name}": ${mistake}`] : []
}
