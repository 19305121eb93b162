// A person called: what failed for good, why, and what becomes of it. Release makes a key new, drop ends an intent or a slot.
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { checkArgument, text, wholeNumber } from '../base/options.ts'
import type { ProgressOptions } from '../base/progress.ts'
import { redact } from '../base/redact.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Job } from '../job/job.ts'
import { type Slot, slotCodec } from '../job/schedule.ts'
import { shownUnique } from '../job/unique.ts'
import { unknownJob } from '../job/unknown-job.ts'
import type { Push } from '../queue/push.ts'
import type { ErrorGroup, QuarantinedDetail, QuarantinedKey, StoreQuarantine } from '../store/quarantine.ts'
import type { StoreStatus } from '../store/status.ts'
import type { Sweeps } from '../store/sweeps.ts'
import { anyOfThem, checkAct, keyText, ofJob, type QuarantineFilter, readFilter } from './quarantine-filter.ts'

/** Keys as `list` and events show them, all of the job, or those of the job that a filter finds. */
export type QuarantineKeys = string | readonly string[] | { readonly all: true } | { readonly where: QuarantineFilter }

/** Who acts; it stays in `regrow.audit`. */
export interface ActOptions {
  /** Defaults to the host and process of the app. */
  author?: string
}

/** What a release did. */
export interface ReleaseReport {
  /** How many keys were released. */
  readonly count: number
  /** Those that were named; of all, or of a filter, the first 10,000. */
  readonly released: readonly string[]
  /** Keys that were asked for and are not quarantined. */
  readonly missing: readonly string[]
}

/** What a drop did. */
export interface DropReport {
  readonly count: number
  /** As `released`. */
  readonly dropped: readonly string[]
  readonly missing: readonly string[]
}

/** Keys that failed for good and wait for a person. */
export interface Quarantine {
  /** A page by job and key, 100 unless `limit` (at most 1,000) says otherwise; `next` is the `after` of the next page. */
  list(
    options?: { job?: string; limit?: number; after?: string } & QuarantineFilter,
  ): Promise<{ keys: readonly QuarantinedKey[]; next: string | null }>
  /** How many keys of each job there are; jobs without any are left out. */
  count(options?: { job?: string } & QuarantineFilter): Promise<readonly { job: string; count: number }[]>
  /** What they failed of: errors that differ in numbers, ids and addresses only are one. 100 unless `limit` says otherwise. */
  errors(options?: { job?: string; limit?: number } & QuarantineFilter): Promise<readonly ErrorGroup[]>
  /** One key with its whole error, and its intent; null when it is not quarantined. */
  show(job: string, key: string): Promise<QuarantinedDetail | null>
  /**
   * Makes keys new: their failures are forgotten, they are hinted at once, and the job's sweep is due. Of more than 1,000 the
   * first ones are hinted at once; the sweep brings the others, slowly at first (L9).
   */
  release(job: string, keys: QuarantineKeys, options?: ActOptions & ProgressOptions): Promise<ReleaseReport>
  /**
   * Ends intents for good, and slots of schedules. Work that is a row of yours cannot be dropped here: change the row so that the pending query
   * no longer returns it. One such key, and nothing of its page of 1,000 is dropped.
   */
  drop(job: string, keys: QuarantineKeys, options?: ActOptions & ProgressOptions): Promise<DropReport>
}

export interface QuarantinePorts {
  readonly status: Pick<StoreStatus, 'jobs'>
  readonly quarantine: StoreQuarantine
  readonly sweeps: Pick<Sweeps, 'makeDue'>
  readonly push: Push
  readonly events: Events<EventMap>
  readonly jobs: readonly Job[]
  readonly leaseMs: number
  readonly author: string
}

const pageSize = 1_000
/** Keys that a report of an act on many names; `count` has them all. */
const namedMax = 10_000

/** `ports` opens the store: nothing is opened before the first call. */
export function quarantine(ports: () => Promise<QuarantinePorts>): Quarantine {
  return {
    async list(options = {}) {
      const where = readFilter('quarantine.list()', options, { ...ofJob, after: text, limit: wholeNumber(1, pageSize) })
      const { job, limit: size = 100, after } = options
      const open = await ports()
      const keys = await open.quarantine.list(job ?? null, cursorOf(after), size, where)
      if (keys.length === 0 && job !== undefined && after === undefined) await refuseUnknown(open, job)
      const last = keys.length === size ? keys.at(-1) : undefined
      return { keys, next: last ? Buffer.from(JSON.stringify([last.job, last.key])).toString('base64url') : null }
    },
    async count(options = {}) {
      const where = readFilter('quarantine.count()', options, ofJob)
      const { job } = options
      const open = await ports()
      const counts = await open.quarantine.count(job ?? null, where)
      if (counts.length === 0 && job !== undefined) await refuseUnknown(open, job)
      return counts
    },
    async errors(options = {}) {
      const where = readFilter('quarantine.errors()', options, { ...ofJob, limit: wholeNumber(1) })
      const { job, limit = 100 } = options
      const open = await ports()
      const groups = await open.quarantine.errors(job ?? null, where, limit)
      if (groups.length === 0 && job !== undefined) await refuseUnknown(open, job)
      return groups
    },
    async show(job, key) {
      checkArgument('quarantine.show()', 'the job', job, text)
      checkArgument('quarantine.show()', 'the key', key, keyText)
      const open = await ports()
      const found = await open.quarantine.find(job, key)
      if (!found) await refuseUnknown(open, job)
      const { intent } = found ?? {}
      if (!found || !intent) return found
      const uniqueKey = intent.uniqueKey && shownUnique(intent.uniqueKey)
      return { ...found, intent: { ...intent, input: redact(intent.input), uniqueKey } }
    },
    async release(job, keys, options = {}) {
      checkAct('quarantine.release()', job, keys, options)
      const { author, ...long } = options
      const open = await ports()
      const done = new Done(keys)
      let pages = 0
      const acted = inPages(open, job, keys, long, done, async (page) => {
        const freed = await open.quarantine.release(job, page, author ?? open.author)
        // The hint is for speed; where it does not reach a worker, the sweep that is due finds the key. L9: of many, only the
        // first are hinted here.
        if (pages === 0 && freed.length > 0)
          await open.push(freed.map((key) => ({ job, key, delayMs: 0, fresh: true })))
        if (pages === 1) await open.sweeps.makeDue([job], { anew: true, ramped: true })
        pages++
        return freed
      })
      // However far it came: what is released has to be found.
      const due = () => open.sweeps.makeDue([job], pages > 1 ? { anew: true, ramped: true } : {})
      const asked = await acted.finally(() => (done.count > 0 ? due() : undefined))
      if (done.count === 0) await refuseUnknown(open, job)
      return { count: done.count, released: done.keys, missing: without(asked, done.keys) }
    },
    async drop(job, keys, options = {}) {
      checkAct('quarantine.drop()', job, keys, options)
      const { author, ...long } = options
      const open = await ports()
      const done = new Done(keys)
      const asked = await inPages(open, job, keys, long, done, async (page) => {
        const verdicts = await open.quarantine.drop(job, page, author ?? open.author)
        const row = verdicts.find(({ verdict }) => verdict === 'row')
        if (row) throw rowOfYours(job, row.key, done.count)
        const dropped = verdicts.filter(({ verdict }) => verdict === 'dropped').map(({ key }) => key)
        if (open.jobs.find(({ name }) => name === job)?.slots) for (const key of dropped) tellSlot(open, key)
        return dropped
      })
      if (done.count === 0) await refuseUnknown(open, job)
      return { count: done.count, dropped: done.keys, missing: without(asked, done.keys) }
    },
  }
}

function tellSlot({ events }: QuarantinePorts, key: string): void {
  const { schedule, at } = slotCodec.decode(key) as Slot
  events.emit('slot.skipped', { schedule, at: at.toISOString(), reason: 'dropped', through: null, count: null })
}

/** What was done so far: all keys that were named, else the first of them. */
class Done {
  readonly keys: string[] = []
  readonly #most: number
  count = 0

  constructor(keys: QuarantineKeys) {
    this.#most = isMany(keys) ? namedMax : Number.POSITIVE_INFINITY
  }

  add(keys: readonly string[]): void {
    this.count += keys.length
    this.keys.push(...keys.slice(0, Math.max(0, this.#most - this.keys.length)))
  }
}

type Many = Extract<QuarantineKeys, { all: true } | { where: QuarantineFilter }>

const isMany = (keys: QuarantineKeys): keys is Many => typeof keys === 'object' && !Array.isArray(keys)

/** Calls `act` with pages of the keys until they are through or `signal` says so; returns those that were named one by one. */
async function inPages(
  { quarantine: store }: QuarantinePorts,
  job: string,
  keys: QuarantineKeys,
  { onProgress, signal }: ProgressOptions,
  done: Done,
  act: (page: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const acted = async (page: readonly string[], total: number | null) => {
    done.add(await act(page))
    onProgress?.({ what: job, done: done.count, total })
  }
  if (isMany(keys)) {
    const where = 'where' in keys ? readFilter('`where`', keys.where) : anyOfThem
    const total = onProgress ? ((await store.count(job, where))[0]?.count ?? 0) : null
    // By cursor: a key that comes back meanwhile is not met twice.
    for (let after: QuarantinedKey | null | undefined = null; after !== undefined && !signal?.aborted; ) {
      const page: QuarantinedKey[] = await store.list(job, after, pageSize, where)
      if (page.length > 0)
        await acted(
          page.map(({ key }) => key),
          total,
        )
      after = page.length === pageSize ? page.at(-1) : undefined
    }
    return []
  }
  const named = typeof keys === 'string' ? [keys] : [...new Set(keys)]
  let at = 0
  for (; at < named.length && !signal?.aborted; at += pageSize)
    await acted(named.slice(at, at + pageSize), named.length)
  return named.slice(0, at)
}

/** Nothing found may mean a misspelt name: then that is the answer. */
async function refuseUnknown({ status, jobs, leaseMs }: QuarantinePorts, job: string): Promise<void> {
  const { jobs: rows } = await status.jobs(leaseMs)
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

function rowOfYours(job: string, key: string, dropped: number): RegrowError {
  const done = dropped === 0 ? 'nothing was dropped' : `${dropped} before it were dropped`
  return new RegrowError(
    'row_of_yours',
    `The work of "${job}" with the key ${key} is a row of your own, and regrow deletes none of those; ${done}`,
    'Change the row so that the pending query no longer returns it, then release the key: it finds nothing to do.',
  )
}

function without(keys: readonly string[], done: readonly string[]): string[] {
  const set = new Set(done)
  return keys.filter((key) => !set.has(key))
}
