// Around the page: a row for which the pending query fails costs itself alone, not its neighbours (M36). Where a page fails, the keys behind
// the cursor are read without the query, and the check is asked about them in halves, from left to right, until each bad row is alone.
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import { failingRow, isKeyLength, keyShown } from '../job/key.ts'
import { storable } from '../job/outcome.ts'
import { eligible } from './eligible.ts'
import { type Classify, isBadRow } from './errors.ts'
import type { Ledger } from './ledger.ts'
import type { Page, PageRow, PendingKey, Source } from './source.ts'

/** Of one page: a job whose rows are all bad takes no more of the store. The next page goes on where this one ends. */
const checksMost = 40
/** Smaller pages that are tried first: they pass over rows that the query leaves out, where it reads them in order. */
const smaller = [1_000, 100, 10, 1]

export interface PageApartPorts {
  readonly job: string
  readonly clock: Clock
  readonly classify: Classify
  readonly ledger: Pick<Ledger, 'standing'>
}

/** `page` of a source that can name candidates; without a bad row it is one call, as before. */
export function pageApart(ports: PageApartPorts, source: Source): Source['page'] {
  return async (after, limit, horizonMs, timeoutMs) => {
    try {
      return await source.page(after, limit, horizonMs, timeoutMs)
    } catch (error) {
      if (!isBadRow(ports.classify(error)) || !source.candidates) throw error
      const until = ports.clock.now() + timeoutMs
      const before = await smallerPage(ports, source, { after, limit, horizonMs, timeoutMs })
      const from = before?.last ?? after
      const keys = await source.candidates(from, limit, timeoutMs).catch(() => null)
      if (!keys) throw error
      const found = await oneByOne(ports, source, keys, until)
      // When no key passes, it is the query that is broken, not its rows.
      if (!found.passed) throw error
      const rows = await eligibleRows(ports, found, horizonMs)
      return joined(before, rows, { last: found.asked.at(-1) as string, found, more: more(found, keys, limit) })
    }
  }
}

const more = ({ asked }: Found, keys: readonly string[], limit: number) =>
  asked.length < keys.length || keys.length >= limit

interface PageArguments {
  readonly after: string | null
  readonly limit: number
  readonly horizonMs: number
  readonly timeoutMs: number
}

/** The rows before the bad one, as far as a page finds them; undefined: none of these passes. */
async function smallerPage(
  { classify }: PageApartPorts,
  source: Source,
  { after, limit, horizonMs, timeoutMs }: PageArguments,
): Promise<Page | undefined> {
  for (const size of smaller.filter((each) => each < limit))
    try {
      const page = await source.page(after, size, horizonMs, timeoutMs)
      return page.last === null ? undefined : page
    } catch (error) {
      if (!isBadRow(classify(error))) throw error
    }
  return undefined
}

interface Found {
  /** Keys whose answer is known, in their order. */
  readonly asked: readonly string[]
  readonly pending: ReadonlyMap<string, PendingKey>
  readonly broken: ReadonlyMap<string, unknown>
  /** The check of some of them passed. */
  readonly passed: boolean
}

async function oneByOne(
  { clock, classify }: PageApartPorts,
  source: Source,
  keys: readonly string[],
  until: number,
): Promise<Found> {
  const found = {
    ...{ asked: [] as string[], passed: false },
    ...{ pending: new Map<string, PendingKey>(), broken: new Map<string, unknown>() },
  }
  const parts = keys.length > 0 ? [keys] : []
  for (let checks = 0; checks < checksMost && clock.now() < until; checks++) {
    const part = parts.pop()
    if (!part) break
    try {
      for (const [key, row] of (await source.check(part)).pending) found.pending.set(key, row)
      found.passed = true
      found.asked.push(...part)
    } catch (error) {
      if (!isBadRow(classify(error))) throw error
      const [only] = part
      if (part.length === 1) {
        found.broken.set(only as string, error)
        found.asked.push(only as string)
      } else parts.push(part.slice(part.length >> 1), part.slice(0, part.length >> 1))
    }
  }
  return found
}

interface Rows {
  readonly rows: readonly PageRow[]
  /** Of each row that can never run, how many of `rows` come before it. */
  readonly before: readonly number[]
  /** One of these, as health tells it. */
  readonly shown: string | null
}

async function eligibleRows(
  { ledger, job }: PageApartPorts,
  { asked, pending, broken }: Found,
  horizonMs: number,
): Promise<Rows> {
  const fitting = asked.filter((key) => pending.has(key) && isKeyLength(key))
  const standing = new Map((await ledger.standing(job, fitting)).map((row) => [row.key, row]))
  const rows: PageRow[] = []
  const before: number[] = []
  let shown: string | null = null
  for (const key of asked) {
    const row = pending.get(key)
    if (broken.has(key)) shown ??= storable(failingRow(key, messageOf(broken.get(key))))
    if (broken.has(key) || (row && !isKeyLength(key))) before.push(rows.length)
    else if (row) {
      const found = eligible(row, standing.get(key), horizonMs)
      if (found) rows.push(found)
    }
  }
  return {
    rows,
    before,
    shown: shown ?? asked.find((key) => pending.has(key) && !isKeyLength(key))?.slice(0, keyShown) ?? null,
  }
}

/** One page of the rows before and of those that were asked about. */
function joined(
  first: Page | undefined,
  { rows, before, shown }: Rows,
  { found, ...end }: { readonly last: string; readonly found: Found; readonly more: boolean },
): Page {
  const offset = first?.rows.length ?? 0
  const all = [...(first?.unusable?.before ?? []), ...before.map((count) => count + offset)]
  return {
    ...end,
    scanned: (first?.scanned ?? 0) + new Set([...found.pending.keys(), ...found.broken.keys()]).size,
    oldestMs: first?.oldestMs ?? null,
    rows: [...(first?.rows ?? []), ...rows],
    ...(all.length > 0 && { unusable: { count: all.length, key: shown ?? first?.unusable?.key ?? '', before: all } }),
  }
}
