// What goes into the scripts and comes out of them: pages of hints, parts of a pop, marks. Pure.
import { type Mark, readMark } from '../../job/canary-mark.ts'
import type { Hint, PoppedHint } from '../../queue/hint.ts'
import type { Popped } from '../../queue/queue.ts'

/** Keys of one script call: several commands over all of them, each within what Lua can unpack. */
const pageSize = 1_000

/** Hints of one job and lane, all due or all delayed. */
export interface Page {
  readonly job: string
  readonly fresh: boolean
  readonly keys: string[]
  /** In ms; undefined: they are due. */
  readonly delays: string[] | undefined
}

/** Hints as pages of 1,000 at most. */
export function pagesOf(hints: readonly Hint[]): Page[] {
  const pages: Page[] = []
  const open = new Map<string, Page>()
  let page: Page | undefined
  for (const { job, key, delayMs, fresh } of hints) {
    const delayed = delayMs > 0
    if (page?.job !== job || page.fresh !== fresh || (page.delays !== undefined) !== delayed) {
      page = open.get(`${Number(fresh)}${Number(delayed)}${job}`)
    }
    if (page === undefined || page.keys.length >= pageSize) {
      page = { job, fresh, keys: [], delays: delayed ? [] : undefined }
      pages.push(page)
      open.set(`${Number(fresh)}${Number(delayed)}${job}`, page)
    }
    page.keys.push(key)
    page.delays?.push(String(delayMs))
  }
  return pages
}

/** What one or all slots answered to a pop. */
export interface Part extends Popped {
  /** Keys of Redis that were deleted because they held a value of another type. */
  readonly repaired: readonly string[]
  readonly mark: Mark | null
  /** Until the next delayed hint; -1: there is none, or hints were found. */
  readonly nextMs: number
}

/** The answer of pop.lua, for the jobs that it was asked for. */
export function readPop(answer: unknown, jobs: readonly { readonly job: string }[]): Part {
  const flat = answer as (string | number)[]
  const hints: PoppedHint[] = []
  for (let at = 2; at < flat.length; ) {
    if (flat[at] === -1)
      return { hints, mark: markOf(flat[0]), nextMs: flat[1] as number, repaired: flat.slice(at + 3) as string[] }
    const { job } = jobs[flat[at] as number] as { job: string }
    const fresh = flat[at + 1] === 1
    const end = at + 3 + (flat[at + 2] as number)
    for (at += 3; at < end; at++) hints.push({ job, key: flat[at] as string, fresh })
  }
  return { hints, mark: markOf(flat[0]), nextMs: flat[1] as number, repaired: [] }
}

/** A mark as a script takes it. */
export const markText = ({ epoch, sequence }: Mark): [string, string] => [String(epoch), String(sequence)]

/** A mark as the server keeps it; null when there is none, or what is there is not a mark. */
export function markOf(text: unknown): Mark | null {
  const [, epoch, sequence] = /^(\d+) (\d+)$/.exec(String(text)) ?? []
  return readMark(epoch, sequence)
}

/** The mark of a queue that lies in several slots: missing when it is missing anywhere, else the oldest. */
export function worst(marks: readonly (Mark | null)[]): Mark | null {
  let found: Mark | undefined
  for (const mark of marks) {
    if (mark === null) return null
    const older = !found || mark.epoch < found.epoch || (mark.epoch === found.epoch && mark.sequence < found.sequence)
    if (older) found = mark
  }
  return found ?? null
}

/** How much of each job and lane a pop takes, where no script sees them all: `share` swept ones, then fresh, then swept. */
export function allotted(
  jobs: readonly { readonly job: string; readonly limit: number }[],
  limit: number,
  share: number,
  there: ReadonlyMap<string, readonly number[]>,
) {
  const rooms = jobs.map(({ job, limit: room }) => {
    const [freshDue = 0, sweptDue = 0] = there.get(job) ?? []
    return { job, room, due: { fresh: freshDue, swept: sweptDue }, fresh: 0, swept: 0 }
  })
  const take = (lane: 'fresh' | 'swept', most: number): number => {
    let left = most
    for (const each of rooms) {
      const n = Math.max(0, Math.min(left, each.room, each.due[lane]))
      each[lane] += n
      each.due[lane] -= n
      each.room -= n
      left -= n
    }
    return most - left
  }
  const first = take('swept', share)
  const fresh = take('fresh', limit - first)
  take('swept', limit - first - fresh)
  return rooms.map((each) => ({ job: each.job, limit: each.fresh + each.swept, fresh: each.fresh, swept: each.swept }))
}
