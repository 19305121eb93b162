// Who appears in a sequence: four jobs with real declarations (keys of text, bigint, two columns, and intents), a few keys of
// each, a few holders; and the application's tables, once as SQL and once as the model reads them.
import { z } from 'zod'
import { regrow } from '../../../src/app/regrow.ts'
import type { StoreDriver } from '../../../src/drivers/driver.ts'
import type { Job } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'
import type { ModelQuery } from '../store/database.ts'

/** The lease of every sequence. */
export const leaseMs = 15_000
/** Who may hold claims and turns. */
export const holders = ['h0', 'h1', 'h2'] as const
/** The first instant of schedules; sequences begin a moment before it. */
export const gridMs = Date.UTC(2026, 1, 27, 23, 59, 30)
/** Queues that the store has a mark of. */
export const queues = ['q0', 'q1'] as const

const unopened: StoreDriver = {
  kind: 'store',
  name: 'none',
  open: () => Promise.reject(new Error('This app only declares')),
}
const app = regrow({ store: unopened })

const big = app.job('big', {
  key: 'bigint',
  pending: sql`select id, "row" ->> 'version' as version, to_timestamp(("row" ->> 'runAt')::float8 / 1000) as run_at
    from agreement.big where ("row" ->> 'open')::boolean`,
})
const mail = app.job('mail', { input: z.object({}).loose() })
const pair = app.job('pair', {
  key: { a: 'text', b: 'int' },
  pending: sql`select a, b, "row" ->> 'version' as version from agreement.pair where ("row" ->> 'open')::boolean`,
})
const text = app.job('text', {
  key: 'text',
  pending: sql`select id from agreement.text where ("row" ->> 'open')::boolean
    and coalesce(("row" ->> 'runAt')::float8, 0) <= extract(epoch from regrow.clock()) * 1000`,
})

const tick = app.job('tick', { schedule: { every: '10s' } })

/** The one whose work is slots. */
export const slotsJob: Job = tick.handle(() => {}).job

/** Real declarations, as a source is made for them. */
export const jobs: readonly Job[] = [
  big.handle(() => {}).job,
  mail.handle(() => {}).job,
  pair.handle(() => {}).job,
  text.handle(() => {}).job,
]

/** Names without a declaration, too: tables may know jobs that no process has. */
export const jobNames = ['big', 'mail', 'pair', 'text', 'unknown'] as const

/** Keys of each job, some of which sort otherwise as text than as what they are, or otherwise in UTF-16 than by bytes. */
export const keysOf: Readonly<Record<string, readonly string[]>> = {
  big: ['9', '10', '-3', '9007199254740993'],
  mail: [1, 2, 3, 4].map((n) => `0000000${n % 3}-0000-4000-8000-00000000000${n}`),
  pair: ['["a","2"]', '["a","10"]', '["B","1"]', '["ä","1"]'],
  text: ['b', 'B', 'a b', '\u{1F331}', '\uFFFD'],
  unknown: ['x', 'y'],
}

const isOpen = (row: { readonly open?: unknown }) => row.open === true

/** The same queries for the model. */
export const queries: ReadonlyMap<string, ModelQuery> = new Map<string, ModelQuery>([
  [
    'big',
    {
      table: 'big',
      pending: isOpen,
      version: ({ version }) => (version as string | null | undefined) ?? null,
      runAtMs: ({ runAt }) => (runAt == null ? null : Number(runAt)),
    },
  ],
  [
    'pair',
    {
      table: 'pair',
      pending: isOpen,
      version: ({ version }) => (version as string | null | undefined) ?? null,
    },
  ],
  ['text', { table: 'text', pending: (row, nowMs) => isOpen(row) && Number(row.runAt ?? 0) <= nowMs }],
])

/** The application's tables, and a clock that only the test moves. */
export const tables = `
  create schema agreement;
  create table agreement.clock (at timestamptz not null);
  insert into agreement.clock values (to_timestamp(0));
  create or replace function regrow.clock() returns timestamptz language sql volatile parallel safe as 'select at from agreement.clock';
  create table agreement.big (id bigint primary key, "row" jsonb not null);
  create table agreement.pair (a text collate "C", b int, "row" jsonb not null, primary key (a, b));
  create table agreement.text (id text collate "C" primary key, "row" jsonb not null)`

/** Key columns of a table, each with its type. */
export const columnsOf: Readonly<Record<string, readonly { name: string; type: string }[]>> = {
  big: [{ name: 'id', type: 'bigint' }],
  pair: [
    { name: 'a', type: 'text' },
    { name: 'b', type: 'int' },
  ],
  text: [{ name: 'id', type: 'text' }],
}

/** The declaration of that name. */
export const jobOf = (name: string): Job => {
  const found = jobs.find((job) => job.name === name)
  if (!found) throw new TypeError(`no job "${name}"`)
  return found
}
