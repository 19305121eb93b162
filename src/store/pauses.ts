// The kill switch of a job. It is read in every check (S8); who paused and resumed stays in the audit.
import type { PauseRow } from './status.ts'

export interface Pauses {
  /**
   * Stops hints and starts of a job, for `forMs` on the store's clock; null: until it is resumed. Again: replaces reason,
   * author and end. Answers the pause as it holds now.
   */
  pause(job: string, reason: string, author: string, forMs: number | null): Promise<PauseRow>
  /** Ends a pause and makes the sweep due from the beginning; false: there was none. */
  resume(job: string, author: string): Promise<boolean>
  /** Ends a pause that has run out, as a resume would; false: there is none, or it still holds. */
  end(job: string): Promise<boolean>
  /** The pauses that hold now. */
  list(): Promise<PauseRow[]>
}
