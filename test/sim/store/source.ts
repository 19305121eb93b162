// The inner face of a job's truth in the model: rows of the application, intents, or slots, joined with ledger and pauses as the
// statements of src/drivers/postgres/store/source/source.ts do it.

import { customSource } from '../../../src/drivers/postgres/store/source/custom-source.ts'
import { unusableRows } from '../../../src/drivers/postgres/store/source/page-encoding.ts'
import type { SqlDatabase } from '../../../src/drivers/sql/client.ts'
import type { Job } from '../../../src/job/job.ts'
import { isKeyLength } from '../../../src/job/key.ts'
import type { Ledger } from '../../../src/store/ledger.ts'
import type { Page, PageRow, PendingKey, Source } from '../../../src/store/source.ts'
import type { AppRow } from './app-tx.ts'
import { byBytes, byParts, type KeyParts, partsOf } from './order.ts'
import { type IntentRow, ledgerId, type Schema } from './schema.ts'
import type { Table } from './table.ts'
import { instant, isAheadOf, plus, plusYears, since } from './time.ts'

/** How a job's pending query reads in the model. Intents need none. */
export interface ModelQuery {
  readonly table: string
  readonly pending: (row: AppRow, nowMs: number) => boolean
  readonly version?: (row: AppRow) => string | null
  readonly runAtMs?: (row: AppRow) => number | null
}

/** One row of a pending query. */
interface Pending {
  readonly key: string
  readonly parts: KeyParts
  readonly version: string | null
  readonly runAt: number | null
  readonly input: string | null
  /** It has a unique key to give up when it starts. */
  readonly unique?: boolean
  /** Since when it waits, where rows tell. */
  readonly since: number | null
}

/** The rows that a source reads, by key. */
interface Truth {
  readonly versioned: boolean
  readonly dated: boolean
  /** Ids in the order of keys. */
  ids(): readonly Place[]
  row(id: string, at: number): Pending | null
}

interface Place {
  readonly id: string
  readonly parts: KeyParts
}

/** Ids of a table in the order of a job's keys, sorted again only when one came or went. */
function sortedIds(
  table: { readonly generation: number },
  job: Job,
  ids: () => Iterable<string>,
): () => readonly Place[] {
  const known = new Map<string, KeyParts>()
  let generation = -1
  let places: Place[] = []
  return () => {
    if (table.generation === generation) return places
    generation = table.generation
    places = Array.from(ids(), (id) => {
      const parts = known.get(id) ?? partsOf(job.key, id)
      return { id, parts }
    }).sort((a, b) => byParts(a.parts, b.parts))
    known.clear()
    for (const { id, parts } of places) known.set(id, parts)
    return places
  }
}

function rowsOf(table: Table<AppRow>, job: Job, query: ModelQuery): Truth {
  return {
    versioned: query.version !== undefined,
    dated: query.runAtMs !== undefined,
    ids: sortedIds(table, job, () => table.rows.keys()),
    row: (id, at) => {
      const row = table.rows.get(id)
      if (!row || !query.pending(row, at)) return null
      const given = query.runAtMs?.(row) ?? null
      const runAt = given === null ? null : instant(given)
      const version = query.version?.(row) ?? null
      return { key: id, parts: partsOf(job.key, id), version, runAt, input: null, since: started(runAt) }
    },
  }
}

/** `-infinity` means now, and tells nothing of how long a row waits. */
const started = (runAt: number | null) => (runAt === Number.NEGATIVE_INFINITY ? null : runAt)

function intentsOf({ intents, intentsByJob }: Schema, job: Job): Truth {
  return {
    versioned: false,
    dated: true,
    ids: sortedIds(intents, job, () => intentsByJob.get(job.name) ?? []),
    row: (id) => {
      const row: IntentRow | undefined = intents.rows.get(id)
      if (row?.job !== job.name) return null
      const { runAt, input, createdAt, uniqueKey, startedKey } = row
      const held = uniqueKey !== null && !uniqueKey.startsWith('schedule ')
      const unique = job.uniqueUntil === 'start' && (held || startedKey !== null)
      return { key: id, parts: [id], version: null, runAt, input, unique, since: started(runAt) ?? createdAt }
    },
  }
}

/** A schedule that is paused or has ended starts nothing. */
function slotsOf({ slots, slotsWaiting, slotsByKey, schedules }: Schema, job: Job): Truth {
  const starts = (name: string) => {
    const schedule = schedules.rows.get(name)
    return schedule?.pausedAt === null && schedule.endedAt === null
  }
  return {
    versioned: false,
    dated: true,
    ids: () =>
      Array.from(slots.found(slotsWaiting, job.name), ({ key }) => ({ id: key, parts: [key] })).sort((a, b) =>
        byBytes(a.id, b.id),
      ),
    row: (id) => {
      const found = [...slots.found(slotsByKey, id)].find(({ lane, state }) => lane === job.name && state === 'waiting')
      if (!found || !starts(found.schedule)) return null
      return { key: id, parts: [id], version: null, runAt: found.dueAt, input: null, since: started(found.dueAt) }
    },
  }
}

/** How long until `runAt`, ten years at most: a row of infinity waits as long as anybody can tell. */
const waitUntil = (runAt: number | null, at: number) =>
  runAt === null || runAt <= at ? 0 : since(Math.min(runAt, plusYears(at, 10)), at)

/** The source of one job; a source of the user's own is the real one over the model's clock and ledger. */
export function simSource(
  schema: Schema,
  ledger: Ledger,
  job: Job,
  query: ModelQuery | undefined,
  tables: (name: string) => Table<AppRow>,
): Source {
  if (job.custom) return customSource(clockOf(schema, job), ledger, job, job.custom)
  if (job.query && !query) throw new TypeError(`The simulated database knows no query of the job "${job.name}"`)
  const own = job.slots ? slotsOf : intentsOf
  const truth = query ? rowsOf(tables(query.table), job, query) : own(schema, job)
  let described = false
  return {
    get versioned() {
      return described && truth.versioned
    },
    get dated() {
      return described && truth.dated
    },
    finishes: job.slots ? 'slot' : job.query === null ? 'intent' : null,
    page: async (after, limit, horizonMs) => {
      described = true
      return page(schema, job, truth, after, limit, horizonMs)
    },
    check: async (keys) => {
      described = true
      const at = schema.now()
      const pending = new Map<string, PendingKey>()
      for (const key of keys) {
        const row = truth.row(job.key.join(partsOf(job.key, key).map(String)), at)
        if (!row) continue
        const { version, input, unique } = row
        pending.set(row.key, {
          key: row.key,
          version,
          waitMs: waitUntil(row.runAt, at),
          input,
          ...(unique === undefined ? {} : { unique }),
        })
      }
      return { paused: schema.isPaused(job.name, at), pending }
    },
    estimate: async () => {
      const at = schema.now()
      return truth.ids().filter(({ id }) => truth.row(id, at)).length
    },
  }
}

/** A page is bounded by rows scanned (M37) and filtered inside; the cursor moves on even when nothing was eligible. */
function page(schema: Schema, job: Job, truth: Truth, after: string | null, limit: number, horizonMs: number): Page {
  const at = schema.now()
  const horizon = plus(at, horizonMs)
  const cursor = after === null ? null : partsOf(job.key, after)
  const rows: PageRow[] = []
  let scanned = 0
  let last: string | null = null
  let oldest: number | null = null
  const before: number[] = []
  let unusableKey = ''
  for (const { id, parts } of truth.ids()) {
    if (scanned >= limit) break
    if (cursor && byParts(parts, cursor) <= 0) continue
    const row = truth.row(id, at)
    if (!row) continue
    scanned++
    last = row.key
    // No queue and no ledger could hold it.
    if (!isKeyLength(row.key)) {
      before.push(rows.length)
      unusableKey = row.key
      continue
    }
    const answer = eligible(schema, job.name, row, at, horizon)
    if (!answer) continue
    rows.push(answer)
    if (row.since !== null && row.since <= at && (oldest === null || row.since < oldest)) oldest = row.since
  }
  const unusable = before.length > 0 ? { unusable: unusableRows(unusableKey, before) } : {}
  return { scanned, last, oldestMs: oldest === null ? null : since(at, oldest), rows, ...unusable }
}

function eligible(schema: Schema, job: string, row: Pending, at: number, horizon: number): PageRow | null {
  const { key, version, runAt } = row
  if (runAt !== null && runAt > horizon) return null
  const held = schema.ledger.rows.get(ledgerId(job, key))
  const renewed =
    held !== undefined && held.holder === null && held.version !== null && version !== null && held.version !== version
  const retryAt = held && !renewed && !isAheadOf(held.updatedAt, at) ? held.retryAt : null
  if (held && !renewed && (held.holder !== null || held.state === 'quarantined')) return null
  if (retryAt !== null && retryAt > horizon) return null
  const start = retryAt === null ? runAt : Math.max(retryAt, runAt ?? retryAt)
  return { key, version, waitMs: waitUntil(start, at), renewed }
}

/** What a source of the user's own asks the database: the time, and whether its job is paused. */
function clockOf(schema: Schema, job: Job): SqlDatabase {
  const query = async () => {
    const at = schema.now()
    return { rows: [{ now_ms: at, paused: schema.isPaused(job.name, at) }] }
  }
  const refuse = async () => {
    throw new TypeError('The simulated database understands no SQL')
  }
  return { query, queryTheirs: query, queryWithin: query, transaction: refuse }
}
