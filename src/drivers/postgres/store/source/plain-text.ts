// The text of a version, the same in every session: a role or database with another TimeZone, DateStyle, IntervalStyle,
// extra_float_digits, bytea_output or lc_monetary must not make an old version look new, nor change an idempotency key.
// The text is what a session with TimeZone UTC, DateStyle ISO and the server's other defaults shows.

/** Types whose text is the same in every session. */
const plain = new Set([
  // bool, char, name, int8, int2, int4, text, oid, tid, xid, cid, json, xml
  16, 18, 19, 20, 21, 23, 25, 26, 27, 28, 29, 114, 142,
  // cidr, macaddr8, macaddr, inet, char(n), varchar, time, timetz, bit, varbit, numeric, uuid, pg_lsn, jsonb, xid8
  650, 774, 829, 869, 1042, 1043, 1083, 1266, 1560, 1562, 1700, 2950, 3220, 3802, 5069,
])

/** Common types that SQL can write without the settings; JSON has one form of dates, and writes a `T` between date and time. */
const written: Readonly<Record<number, (column: string) => string>> = {
  // bytea; a backslash in a literal means something else where standard_conforming_strings is off
  17: (column) => `chr(92) || 'x' || encode(${column}, 'hex')`,
  // date
  1082: (column) => isoText(column),
  // timestamp
  1114: (column) => `replace(${isoText(column)}, 'T', ' ')`,
  // timestamptz; the infinities have no zone
  1184: (column) =>
    `replace(${isoText(`(${column} at time zone 'UTC')`)}, 'T', ' ') || case when isfinite(${column}) then '+00' else '' end`,
}

const isoText = (column: string) => `(to_json(${column}) #>> '{}')`

/**
 * SQL of that text. `type` is the type number that the server told, of a domain that of its base type; `fallback` is the statement
 * `plainText`, which works for every type and is slower: floats, intervals, money, arrays, ranges and types of the user's own.
 */
export function plainText(column: string, type: number, fallback: string): string {
  if (plain.has(type)) return `${column}::text`
  return written[type]?.(column) ?? fallback.replaceAll(':column', () => column)
}
