// A person called: what failed for good, why, and what becomes of it. Release makes a key new, drop ends an intent.
import { RegrowError } from '../base/errors.ts'
import { redact } from '../base/redact.ts'
import type { Job } from '../job/job.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Push } from '../queue/push.ts'
import type { Inspector, QuarantinedDetail, QuarantinedKey } from '../store/inspector.ts'
import type { Sweeps } from '../store/sweeps.ts'

/** Keys as `list` and events show them, or all of the job. */
export type QuarantineKeys = string | readonly string[] | { readonly all: true }

/** Who acts; it stays in `regrow.audit`. */
export interface ActOptions {
  /** Defaults to the host and process of the app. */
  author?: string
}

/** What a release did. */
export interface ReleaseReport {
  readonly released: readonly string[]
  /** Keys that were asked for and are not quarantined. */
  readonly missing: readonly string[]
}

/** What a drop did. */
export interface DropReport {
  readonly dropped: readonly string[]
  readonly missing: readonly string[]
}

/** Keys that failed for good and wait for a person. */
export interface Quarantine {
  /** A page by job and key, 100 unless `limit` (at most 1,000) says otherwise; `next` is the `after` of the next page. */
  list(options?: {
    job?: string
    limit?: number
    after?: string
  }): Promise<{ keys: readonly QuarantinedKey[]; next: string | null }>
  /** One key with its whole error, and its intent; null when it is not quarantined. */
  show(job: string, key: string): Promise<QuarantinedDetail | null>
  /** Makes keys new: their failures are forgotten, they are hinted at once, and the job's sweep is due. */
  release(job: string, keys: QuarantineKeys, options?: ActOptions): Promise<ReleaseReport>
  /**
   * Ends intents for good. Work that is a row of yours cannot be dropped here: change the row so that the pending query
   * no longer returns it. One such key, and nothing is dropped.
   */
  drop(job: string, keys: QuarantineKeys, options?: ActOptions): Promise<DropReport>
}

export interface QuarantinePorts {
  readonly inspector: Inspector
  readonly sweeps: Pick<Sweeps, 'makeDue'>
  readonly push: Push
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  readonly author: string
}

const pageSize = 1_000

/** `ports` opens the store: nothing is opened before the first call. */
export function quarantine(ports: () => Promise<QuarantinePorts>): Quarantine {
  return {
    async list({ job, limit = 100, after } = {}) {
      const open = await ports()
      const size = Math.min(Math.max(1, Math.floor(limit)), pageSize)
      const keys = await open.inspector.quarantined(job ?? null, cursorOf(after), size)
      if (keys.length === 0 && job !== undefined && after === undefined) await refuseUnknown(open, job)
      const last = keys.length === size ? keys.at(-1) : undefined
      return { keys, next: last ? Buffer.from(JSON.stringify([last.job, last.key])).toString('base64url') : null }
    },
    async show(job, key) {
      const open = await ports()
      const found = await open.inspector.find(job, key)
      if (!found) await refuseUnknown(open, job)
      return found && { ...found, intent: found.intent && { ...found.intent, input: redact(found.intent.input) } }
    },
    async release(job, keys, { author } = {}) {
      const open = await ports()
      const released: string[] = []
      const asked = await inPages(open, job, keys, async (page) => {
        const freed = await open.inspector.release(job, page, author ?? open.author)
        // The hint is for speed; where it does not reach a worker, the sweep that is due finds the key.
        if (freed.length > 0) await open.push(freed.map((key) => ({ job, key, delayMs: 0, fresh: true })))
        released.push(...freed)
      })
      if (released.length > 0) await open.sweeps.makeDue([job])
      else await refuseUnknown(open, job)
      return { released, missing: without(asked, released) }
    },
    async drop(job, keys, { author } = {}) {
      const open = await ports()
      const dropped: string[] = []
      const asked = await inPages(open, job, keys, async (page) => {
        const verdicts = await open.inspector.drop(job, page, author ?? open.author)
        const row = verdicts.find(({ verdict }) => verdict === 'row')
        if (row) throw rowOfYours(job, row.key)
        dropped.push(...verdicts.filter(({ verdict }) => verdict === 'dropped').map(({ key }) => key))
      })
      if (dropped.length === 0) await refuseUnknown(open, job)
      return { dropped, missing: without(asked, dropped) }
    },
  }
}

/** Calls `act` with pages of the keys; returns the keys that were named one by one. */
async function inPages(
  { inspector }: QuarantinePorts,
  job: string,
  keys: QuarantineKeys,
  act: (page: readonly string[]) => Promise<void>,
): Promise<readonly string[]> {
  if (typeof keys === 'object' && 'all' in keys) {
    // By cursor: a key that comes back meanwhile is not met twice.
    for (let after: QuarantinedKey | null | undefined = null; after !== undefined; ) {
      const page: QuarantinedKey[] = await inspector.quarantined(job, after, pageSize)
      if (page.length > 0) await act(page.map(({ key }) => key))
      after = page.length === pageSize ? page.at(-1) : undefined
    }
    return []
  }
  const named = typeof keys === 'string' ? [keys] : [...new Set(keys)]
  for (let at = 0; at < named.length; at += pageSize) await act(named.slice(at, at + pageSize))
  return named
}

/** Nothing found may mean a misspelt name: then that is the answer. */
async function refuseUnknown({ inspector, jobs, leaseMs }: QuarantinePorts, job: string): Promise<void> {
  const { jobs: rows } = await inspector.jobs(leaseMs)
  const known = [...new Set([...rows.map((row) => row.job), ...jobs.map(({ name }) => name)])].sort()
  if (!known.includes(job)) throw unknownJob(job, known)
}

function cursorOf(after: string | undefined): { job: string; key: string } | null {
  if (after === undefined) return null
  try {
    const [job, key] = JSON.parse(Buffer.from(after, 'base64url').toString()) as [string, string]
    if (typeof job === 'string' && typeof key === 'string') return { job, key }
  } catch {}
  throw new RegrowError('bad_options', `\`after\` is "${after}", which no list gave`, 'Pass `next` of the page before.')
}

function rowOfYours(job: string, key: string): RegrowError {
  return new RegrowError(
    'row_of_yours',
    `The work of "${job}" with the key ${key} is a row of your own, and regrow deletes none of those; nothing was dropped`,
    'Change the row so that the pending query no longer returns it, then release the key: it finds nothing to do.',
  )
}

function without(keys: readonly string[], done: readonly string[]): string[] {
  const set = new Set(done)
  return keys.filter((key) => !set.has(key))
}
