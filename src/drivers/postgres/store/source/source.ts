// The only file that embeds the user's query. Casts sit on parameters, never on the key column, so its index is used.
import { messageOf, RegrowError } from '../../../../base/errors.ts'
import type { Job } from '../../../../job/job.ts'
import { keyBytesMax } from '../../../../job/key.ts'
import type { SqlQuery } from '../../../../job/pending.ts'
import type { HeldCounts, Unmet } from '../../../../store/diagnosis.ts'
import type { Ledger } from '../../../../store/ledger.ts'
import type { Checked, PendingKey, ServerPages, Source } from '../../../../store/source.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import { unmetConditions } from '../diagnose/unmet-conditions.ts'
import { sqlState } from '../errors.ts'
import { divider, textArray } from '../list-encoding.ts'
import { serverPageOf } from '../opaque.ts'
import type { Statements } from '../statements-by-schema.ts'
import { candidateKeys } from './candidate-keys.ts'
import { customSource } from './custom-source.ts'
import { ownQuery, ownShape } from './own-rows.ts'
import { isBare, pageOf, pageText } from './page-encoding.ts'
import { plainText } from './plain-text.ts'
import { describeQuery, type QueryShape } from './query-shape.ts'
import { oneStatement } from './refusal.ts'

const paused = `exists (select 1 from regrow.pauses where job = $JOB::text and (until is null or until > (select regrow.clock())))`

/** The statement of a check, and how its answer is read. */
export interface CheckQuery extends SqlQuery {
  readonly read: (answer: { readonly rows: readonly Row[] }) => Checked
}

/** A source whose rows are read by a query: the store can send its check right behind a take, and `diagnose/` can ask about it. */
export interface QuerySource extends Source {
  readonly serverPages: ServerPages
  pageQuery(after: string | null, limit: number, horizonMs: number): Promise<SqlQuery>
  checkQuery(keys: readonly string[]): CheckQuery | Promise<CheckQuery>
  /** A statement of all keys. */
  keysQuery(): Promise<SqlQuery>
  held(after: string | null, limit: number, horizonMs: number, timeoutMs: number): Promise<HeldCounts>
  /** Missing where the query is regrow's own. */
  unmet?(key: string): Promise<Unmet>
}

export function sqlSource(db: SqlDatabase, ledger: Ledger, job: Job, texts: () => Statements): Source | QuerySource {
  if (job.custom) return customSource(db, ledger, job, job.custom)
  const theirs = job.query
  const read = theirs ? () => oneStatement(job, theirs()) : () => ownQuery(job, texts())
  let known: Promise<QueryShape> | undefined
  let versioned = false
  let dated = false
  /** What Postgres says of a query that it cannot run names no job; this does. */
  const named = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw job.query && sqlState(error)?.startsWith('42') && !(error instanceof RegrowError)
        ? unrunnable(job, error)
        : error
    }
  }
  const shapeOf = async (): Promise<QueryShape> => {
    known ??= job.query
      ? named(describeQuery(db, job, job.query()))
      : Promise.resolve({ ...ownShape, unique: !job.slots && job.uniqueUntil === 'start' })
    try {
      const shape = await known
      versioned = shape.version !== null
      dated = shape.runAt || shape.createdAt
      return shape
    } catch (error) {
      known = undefined
      throw error
    }
  }
  const pageQuery = async (after: string | null, limit: number, horizonMs: number): Promise<SqlQuery> => {
    const query = read()
    const text = rowsText(job, query, await shapeOf(), after !== null, texts())
    const cursor = after === null ? [] : job.key.split(after)
    return { text, values: [...query.values, job.name, limit, horizonMs, ...cursor] }
  }
  /** The check of a query is the same text each time, and mostly of the same query. */
  let checks: { readonly of: string; readonly shape: QueryShape; readonly text: string } | undefined
  const checkBy = (shape: QueryShape, keys: readonly string[]): CheckQuery => {
    const query = read()
    if (checks?.of !== query.text) checks = { of: query.text, shape, text: checkText(job, query, shape, texts()) }
    return { text: checks.text, values: [...query.values, job.name, keyList(job, keys)], read: checkedBy }
  }
  // Inside other statements only: by itself, a text of several statements would be executed whole.
  const keysQuery = async (): Promise<SqlQuery> => {
    const [query, { keys }] = [read(), await shapeOf()]
    return { ...query, text: `select ${keys.map((key) => `q.${key}`).join(', ')} from (\n${query.text}\n) q` }
  }
  const checkQuery = (keys: readonly string[]): CheckQuery | Promise<CheckQuery> =>
    checks ? checkBy(checks.shape, keys) : shapeOf().then((shape) => checkBy(shape, keys))
  return {
    get versioned() {
      return versioned
    },
    get dated() {
      return dated
    },
    redeems: true,
    finishes: job.slots ? 'slot' : job.query ? null : 'intent',
    serverPages: {
      page: async (...where) => serverPageOf(await pageQuery(...where)),
      async end(after, limit, timeoutMs) {
        const query = read()
        const cursor = after === null ? [] : job.key.split(after)
        const text = pageEndText(job, query, await shapeOf(), after !== null)
        const { rows } = await named(db.queryWithin(timeoutMs, text, [...query.values, limit - 1, ...cursor]))
        return (rows[0]?.key as string | undefined) ?? null
      },
      async lastKey(timeoutMs) {
        const query = read()
        const keys = (await shapeOf()).keys.map((key) => `q.${key}`)
        const there = keys.map((key) => `${key} is not null`).join(' and ')
        const order = keys.map((key) => `${key} desc`).join(', ')
        const text = `select ${keyText(keys)} as key from (\n${query.text}\n) q where ${there} order by ${order} limit 1`
        const { rows } = await named(db.queryWithin(timeoutMs, text, query.values))
        return (rows[0]?.key as string | undefined) ?? null
      },
    },
    pageQuery,
    checkQuery,
    keysQuery,
    async page(after, limit, horizonMs, timeoutMs) {
      const { text, values } = await pageQuery(after, limit, horizonMs)
      const { rows } = await named(db.queryWithin(timeoutMs, pageText(job.key, text), values))
      return pageOf(job.key, rows[0] as Row)
    },
    async held(after, limit, horizonMs, timeoutMs) {
      const { text, values } = await pageQuery(after, limit, horizonMs)
      const { rows } = await named(
        db.queryWithin(timeoutMs, heldText(text, values.length), [...values, job.name, horizonMs]),
      )
      return JSON.parse(rows[0]?.held as string) as HeldCounts
    },
    ...(job.query && {
      candidates: async (after: string | null, limit: number, timeoutMs: number) => {
        const types = job.key.columns.map(({ type }) => sqlType[type])
        return candidateKeys(db, job, { keysQuery: await keysQuery(), types }, { after, limit, timeoutMs })
      },
    }),
    async check(keys) {
      const { text, values } = await checkQuery(keys)
      return checkedBy(await named(db.queryTheirs(text, values, job.name)))
    },
    ...(job.query && {
      unmet: async (key: string) => named(unmetConditions(db, job, read(), await shapeOf(), key, sqlType)),
    }),
    async estimate(timeoutMs) {
      const { text, values } = await keysQuery()
      const { rows } = await named(db.queryWithin(timeoutMs, `explain (format json) ${text}`, values))
      return plannedRows(rows[0])
    },
  }
}

/** How many rows the planner expects; clients hand a plan out as JSON, or as its text. */
function plannedRows(row: Row | undefined): number {
  const cell = row && Object.values(row)[0]
  const plan = (typeof cell === 'string' ? JSON.parse(cell) : cell) as [{ Plan: { 'Plan Rows': number } }]
  return Number(plan[0].Plan['Plan Rows'])
}

function unrunnable(job: Job, cause: unknown): RegrowError {
  return new RegrowError(
    'bad_pending',
    `Job "${job.name}": the pending query cannot be run: ${messageOf(cause)}`,
    sqlState(cause) === '42501'
      ? 'Grant it to the user that workers connect as: grant select on … to …; the sweep tries again.'
      : 'Is the table migrated, in this database, and found without a search_path? Mend the query or the schema; the sweep tries again.',
    cause,
  )
}

const sqlType = { text: 'text', int: 'int4', bigint: 'int8', uuid: 'uuid' } as const

/** The key's canonical text, as SQL over column texts; the same bytes that `KeyCodec.join` makes. */
function keyText(columns: readonly string[]): string {
  if (columns.length === 1) return `${columns[0]}::text`
  return `'[' || ${columns.map((column) => `to_json(${column}::text)::text`).join(` || ',' || `)} || ']'`
}

const waitMs = (runAt: string, at: string) =>
  `coalesce(extract(epoch from least(greatest(${runAt}, ${at}), ${at} + interval '10 years') - ${at}) * 1000, 0)::float8`

function columnsOf(shape: QueryShape, texts: Statements): string {
  const version =
    shape.version === null ? 'null::text' : plainText('q."version"', shape.version, texts.source.plainText)
  // L6: `-infinity` means now, and tells nothing of how long the row waits. Before Postgres 17 no instant can be subtracted from it.
  const since = shape.runAt ? `nullif(q."run_at", '-infinity')` : 'null::timestamptz'
  return [
    ...shape.keys.map((column, i) => `q.${column} as k${i}`),
    `${version} as version`,
    `${shape.runAt ? 'q."run_at"' : 'null::timestamptz'} as run_at`,
    `${shape.input ? 'q."input"' : 'null::text'} as input`,
    ...(shape.unique ? ['q."unique_key"'] : []),
    `${shape.createdAt ? `coalesce(${since}, q."created_at")` : since} as since`,
  ].join(', ')
}

/** Bytes of a ledger that is read once per page, instead of being asked about every row. */
const smallLedger = 4 * 1024 * 1024

/**
 * The rows of a page, in their order: (place, key, version, since, at, renewed, wait_ms, eligible). Bounded by rows scanned (M37);
 * those that may not be hinted now are in it and say so, and the cursor moves on even when nothing was eligible. Nothing stands
 * before them in the join, so the order is that of the index they were read by, and is not made a second time.
 * A back-off that a clock wrote which is set back since is over (L10), and so is one without an end.
 * `eligible` is null where the text is longer than a key may be: no queue and no ledger could hold it.
 */
function rowsText(job: Job, query: SqlQuery, shape: QueryShape, resumed: boolean, texts: Statements): string {
  const first = query.values.length + 1
  const keys = shape.keys.map((column) => `q.${column}`)
  const after = resumed ? afterCursor(job, shape, first + 3) : ''
  const [at, horizon] = ['(select at from env)', '(select horizon from env)']
  const eligible = `(l.key is null or l.renewed or l.free) and (p.run_at is null or p.run_at <= ${horizon})
    and (l.key is null or l.renewed or l.retry_at is null or l.retry_at <= ${horizon})`
  return `
with env as materialized (
  select regrow.clock() as at, regrow.clock() + make_interval(secs => $${first + 2}::float8 / 1000) as horizon,
    pg_relation_size('regrow.ledger') <= ${smallLedger} as small
),
remembered as materialized (
  select b.key from regrow.ledger b where (select small from env) and b.job = $${first}::text limit ${smallLedger}
)
select p.place, p.key, p.version, p.since, ${at} as at, l.renewed is true as renewed,
  case when p.run_at is null and l.retry_at is null then 0 else
    ${waitMs('greatest(p.run_at, case when not l.renewed then l.retry_at end)', at)} end as wait_ms,
  ${isBare(job.key) ? eligible : `case when octet_length(p.key) <= ${keyBytesMax} then ${eligible} end`} as eligible
from (
  select row_number() over (order by ${keys.join(', ')}) as place, ${keyText(keys)} as key, ${columnsOf(shape, texts)} from (
${query.text}
  ) q where ${keys.map((column) => `${column} is not null`).join(' and ')} ${after}
  order by ${keys.join(', ')} limit $${first + 1}::int
) p left join lateral (
  select b.key, case when b.updated_at <= ${at} + interval '10 seconds' and b.retry_at <= ${at} + interval '200 years' then b.retry_at end as retry_at, b.holder is null and b.state <> 'quarantined' as free,
    b.holder is null and b.version is not null and p.version is not null and b.version <> p.version as renewed
  from regrow.ledger b where b.key = p.key and b.job = $${first}::text
    and (not (select small from env) or p.key in (select r.key from remembered r)) offset 0
) l on true
order by ${shape.keys.map((_, i) => `p.k${i}`).join(', ')}`
}

/** Rows behind the cursor, whose parts are parameters from `first` on. */
function afterCursor(job: Job, shape: QueryShape, first: number): string {
  const cursor = job.key.columns.map(({ type }, i) => `$${first + i}::text::${sqlType[type]}`)
  return `and (${shape.keys.map((column) => `q.${column}`).join(', ')}) > (${cursor.join(', ')})`
}

/** The key of the row so many after the cursor. */
function pageEndText(job: Job, query: SqlQuery, shape: QueryShape, resumed: boolean): string {
  const first = query.values.length + 1
  const keys = shape.keys.map((column) => `q.${column}`)
  return `
select ${keyText(keys)} as key from (
${query.text}
) q where ${keys.map((column) => `${column} is not null`).join(' and ')} ${resumed ? afterCursor(job, shape, first + 1) : ''}
order by ${keys.join(', ')} offset $${first}::int limit 1`
}

/** Rows of a page that may not be hinted, by why. Only these are looked for in the ledger again. */
const heldText = (rows: string, values: number) => `
with rows as materialized (${rows}
)
select json_build_object(
  'running', count(*) filter (where l.live), 'quarantined', count(*) filter (where l.aside),
  'backedOff', count(*) filter (where l.waits),
  'later', count(*) filter (where (l.live or l.aside or l.waits) is not true)
)::text as held
from rows r left join lateral (
  select b.holder is not null as live, b.holder is null and b.state = 'quarantined' as aside,
    b.holder is null and b.state <> 'quarantined' and not r.renewed
      and b.updated_at <= r.at + interval '10 seconds' and b.retry_at <= r.at + interval '200 years' and b.retry_at > r.at + make_interval(secs => $${values + 2}::float8 / 1000) as waits
  from regrow.ledger b where b.key = r.key and b.job = $${values + 1}::text offset 0
) l on true
where not r.eligible`

/** Keys as the check reads them: ids in one text, an array of texts, or rows of column texts as JSON. */
const keyList = (job: Job, keys: readonly string[]) =>
  isBare(job.key)
    ? keys.join(divider)
    : job.key.columns.length === 1
      ? textArray(keys)
      : JSON.stringify(keys.map(job.key.split))

/** Its snapshot begins after the take returned (M29); the pause is read in it (S8). */
function checkText(job: Job, query: SqlQuery, shape: QueryShape, texts: Statements): string {
  const first = query.values.length + 1
  const key = keyText(shape.keys.map((_, i) => `c.k${i}`))
  const [column] = job.key.columns
  const wanted = job.key.columns.map(({ type }, i) => `(x ->> ${i})::${sqlType[type]}`)
  const list = `jsonb_array_elements($${first + 1}::text::jsonb) as x`
  const array = isBare(job.key) ? `string_to_array($${first + 1}::text, chr(30))` : `$${first + 1}::text`
  const rows = (match: string) => `select ${columnsOf(shape, texts)} from (
${query.text}
  ) q where ${match}`
  // Composite keys are asked one by one: without statistics, a join with the list read every pending row.
  const found =
    shape.keys.length === 1
      ? rows(`q.${shape.keys[0]} = any (${array}::${sqlType[column?.type ?? 'text']}[])`)
      : `select f.* from ${list} cross join lateral (${rows(
          shape.keys.map((column, i) => `q.${column} = ${wanted[i]}`).join(' and '),
        )} offset 0) f`
  // One text for the whole batch: as rows, a hundred keys cost the client more than the server.
  return `
select ${paused.replace('$JOB', `$${first}`)} as paused, (
  select ${listedRows(job, key, shape)} from (
  ${found}
  ) c${shape.runAt ? ' cross join (select regrow.clock() as at) env' : ''}
)::text as rows`
}

/**
 * The rows of a check as one text, with dividers between them. Of bare keys: key, what it waits and its input, with commas; a `u` behind the
 * wait says that it has a unique key to give up. Others are listed as JSON, at a price.
 */
function listedRows(job: Job, key: string, shape: QueryShape): string {
  const waits = shape.runAt ? `case when c.run_at is null then 0 else ${waitMs('c.run_at', 'env.at')} end` : '0'
  if (!isBare(job.key) || shape.version !== null)
    return `json_agg(json_build_array(${key}, ${waits}, c.version, c.input))`
  const unique = shape.unique ? ` || case when c.unique_key then 'u,' else ',' end` : ` || ','`
  const facts = shape.runAt || shape.input ? ` || ',' || ${waits}${unique} || coalesce(c.input, '')` : ''
  return `string_agg(${key}${facts}, chr(30))`
}

const checkedBy = ({ rows: [row] }: { readonly rows: readonly Row[] }): Checked => ({
  paused: row?.paused === true,
  pending: pendingOf((row?.rows as string | null | undefined) ?? null),
})

function pendingOf(text: string | null): Map<string, PendingKey> {
  const pending = new Map<string, PendingKey>()
  if (text?.startsWith('[')) {
    const found = JSON.parse(text) as [string, number, string | null, string | null][]
    for (const [key, waitMs, version, input] of found) pending.set(key, { key, version, waitMs, input })
  } else
    for (const row of text?.split(divider) ?? []) {
      const end = row.indexOf(',')
      const key = end < 0 ? row : row.slice(0, end)
      const facts = end < 0 ? end : row.indexOf(',', end + 1)
      const unique = facts > 0 && row.charCodeAt(facts - 1) === 117
      const waitMs = end < 0 ? 0 : Number(row.slice(end + 1, unique ? facts - 1 : facts))
      pending.set(key, { key, version: null, waitMs, input: end < 0 ? null : row.slice(facts + 1) || null, unique })
    }
  return pending
}
