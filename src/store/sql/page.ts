// A page on its way from the server: one row, whose keys are one text. As rows, ten thousand keys cost both ends more than finding
// them does.
import type { KeyCodec } from '../../job/key.ts'
import type { Row } from '../executor.ts'
import type { Page } from '../source.ts'

/** Keys of these types hold neither a comma nor a mark; the others are listed as JSON. */
export const isBare = ({ columns }: KeyCodec) => columns.length === 1 && columns[0]?.type !== 'text'

/**
 * `rows`: a query of (place, key, version, since, at, renewed, wait_ms, eligible), in its order. It is read once; the list keeps the
 * order, and marks the keys that are held. Facts are told of those rows only that have any. They are counted by their places: who
 * needs these reads rows one after the other by an index, and is not led to sort a whole table where statistics are missing.
 */
export function pageText(codec: KeyCodec, rows: string): string {
  const [listed, held] = isBare(codec)
    ? ['key', `'!' || key`]
    : ['to_json(key)::text', `'[' || to_json(key)::text || ']'`]
  const dated = 'eligible and since <= at'
  return `
select coalesce(max(place), 0)::int as scanned,
  (extract(epoch from max(at) filter (where ${dated}) - min(since) filter (where ${dated})) * 1000)::float8 as oldest_ms,
  string_agg(case when eligible then ${listed} else ${held} end, ',') as keys,
  (json_agg(json_build_array(key, version, wait_ms, renewed))
    filter (where eligible and (version is not null or wait_ms > 0 or renewed)))::text as facts
from (${rows}
) rows`
}

/** The page that such a row tells of. */
export function pageOf(codec: KeyCodec, row: Row): Page {
  const { last, eligible } = keysOf(row.keys as string | null, isBare(codec))
  const facts = new Map(
    (JSON.parse((row.facts as string | null) ?? '[]') as [string, string | null, number, boolean][]).map(
      ([key, version, waitMs, renewed]) => [key, { key, version, waitMs, renewed }],
    ),
  )
  return {
    scanned: Number(row.scanned),
    last,
    oldestMs: row.oldest_ms === null ? null : Math.max(0, Number(row.oldest_ms)),
    rows: eligible.map((key) => facts.get(key) ?? { key, version: null, waitMs: 0, renewed: false }),
  }
}

/** The last of all keys of the list, and those that are not held. */
function keysOf(listed: string | null, bare: boolean): { last: string | null; eligible: string[] } {
  if (listed === null) return { last: null, eligible: [] }
  const keys = bare ? listed.split(',') : (JSON.parse(`[${listed}]`) as (string | [string])[])
  const isHeld = (key: string | [string]) => (bare ? key[0] === '!' : typeof key !== 'string')
  const last = keys.at(-1) as string | [string]
  const unmarked = typeof last === 'string' ? last.slice(1) : last[0]
  return {
    last: isHeld(last) ? unmarked : (last as string),
    eligible: keys.filter((key): key is string => !isHeld(key)),
  }
}
