// A page on its way from the server: one row, whose keys are one text. As rows, ten thousand keys cost both ends more than finding
// them does.
import { type KeyCodec, keyShown } from '../../../../job/key.ts'
import type { Page, UnusableRows } from '../../../../store/source.ts'
import type { Row } from '../../../sql/client.ts'

/** Keys of these types hold neither a comma nor a mark; the others are listed as JSON. */
export const isBare = ({ columns }: KeyCodec) => columns.length === 1 && columns[0]?.type !== 'text'

/**
 * `rows`: a query of (place, key, version, since, at, renewed, wait_ms, eligible), in its order. It is read once; the list keeps the
 * order, and marks the keys that are held. Facts are told of those rows only that have any. They are counted by their places: who
 * needs these reads rows one after the other by an index, and is not led to sort a whole table where statistics are missing.
 * Rows that cannot be keys (`eligible` is null) are listed as null, whatever their size, and the last of them is told by itself: the
 * cursor may have to stand on it.
 */
export function pageText(codec: KeyCodec, rows: string): string {
  const [listed, held] = isBare(codec)
    ? ['key', `'!' || key`]
    : ['to_json(key)::text', `'[' || to_json(key)::text || ']'`]
  const dated = 'eligible and since <= at'
  const none = 'filter (where eligible is null)'
  const unusable = isBare(codec) ? '' : `(array_agg(key) ${none})[(count(*) ${none})::int] as unusable_key,`
  const marked = isBare(codec) ? '' : `when eligible is null then 'null'`
  return `
select coalesce(max(place), 0)::int as scanned,
  (extract(epoch from max(at) filter (where ${dated}) - min(since) filter (where ${dated})) * 1000)::float8 as oldest_ms,
  string_agg(case when eligible then ${listed} ${marked} else ${held} end, ',') as keys, ${unusable}
  (json_agg(json_build_array(key, version, wait_ms, renewed))
    filter (where eligible and (version is not null or wait_ms > 0 or renewed)))::text as facts
from (${rows}
) rows`
}

/** The page that such a row tells of. */
export function pageOf(codec: KeyCodec, row: Row): Page {
  const { last, eligible, before } = isBare(codec) ? bareKeys(row.keys as string | null) : listedKeys(row)
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
    ...(before.length > 0 && { unusable: unusableRows(row.unusable_key as string, before) }),
  }
}

/** The rows of a page that cannot be keys; `key` is one of theirs. */
export const unusableRows = (key: string, before: readonly number[]): UnusableRows => ({
  count: before.length,
  key: key.slice(0, keyShown),
  before,
})

/** The last of all keys of a list, those that are not held, and how many of these come before each row that cannot be a key. */
interface Keys {
  readonly last: string | null
  readonly eligible: string[]
  readonly before: readonly number[]
}

function bareKeys(listed: string | null): Keys {
  const keys = listed?.split(',') ?? []
  const last = keys.at(-1)
  return {
    last: last === undefined ? null : last.replace('!', ''),
    eligible: keys.filter((key) => key[0] !== '!'),
    before: [],
  }
}

function listedKeys({ keys: listed, unusable_key: unusable }: Row): Keys {
  const keys = JSON.parse(`[${(listed as string | null) ?? ''}]`) as (string | [string] | null)[]
  const eligible: string[] = []
  const before: number[] = []
  for (const key of keys)
    if (key === null) before.push(eligible.length)
    else if (typeof key === 'string') eligible.push(key)
  const last = keys.at(-1)
  const text = last === null ? (unusable as string) : typeof last === 'string' ? last : last?.[0]
  return { last: text ?? null, eligible, before }
}
