// Which index the doctor names for pending queries of many kinds, on a real Postgres: each is made as printed, and then the
// doctor is quiet.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, regrow, sql } from '../../src/index.ts'
import { type DoctorReport, type JobCosts, operate } from '../../src/operate/index.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

interface Case {
  readonly name: string
  readonly tables: string
  readonly key: string | Record<string, string>
  readonly pending: { text: string; values: unknown[] }
  /** The statements to be named, and what is said of what they leave out. */
  readonly fix: readonly string[]
  readonly leftOut?: string
}

const query = (text: string) => ({ text, values: [] })

const cases: readonly Case[] = [
  {
    name: 'an enum and a composite key: the key columns in their order, and the state as its condition',
    tables: `create type step as enum ('new', 'done');
      create table steps (a int, b text, step step not null);
      insert into steps select n, 'b' || n, case when n % 1000 = 0 then 'new'::step else 'done' end from generate_series(1, 24000) n`,
    key: { a: 'int', b: 'text' },
    pending: query(`select b, a from steps where step = 'new'`),
    fix: [`create index concurrently steps_a_b_where_step_new on public.steps (a, b) where step = 'new';`],
  },
  {
    name: 'a time that moves, and few rows are due: by the time',
    tables: `create table policies (id bigint primary key, next_run_at timestamptz not null);
      insert into policies select n, now() + n * interval '1 minute' from generate_series(1, 24000) n`,
    key: 'bigint',
    pending: query(
      `select id, next_run_at as version, next_run_at as run_at from policies where next_run_at <= now() + interval '10 minutes'`,
    ),
    fix: [`create index concurrently policies_next_run_at on public.policies (next_run_at);`],
  },
  {
    name: 'a time that moves beside a state that few rows have: left out, and said',
    tables: `create table mails (id int primary key, state text not null, send_at timestamptz);
      insert into mails select n, case when n % 500 = 0 then 'new' else 'sent' end, now() from generate_series(1, 24000) n`,
    key: 'int',
    pending: query(`select id from mails where state = 'new' and (send_at is null or send_at <= now())`),
    fix: [`create index concurrently mails_id_where_state_new on public.mails (id) where state = 'new';`],
    leftOut: 'Left out: (send_at IS NULL) OR (send_at <= now())',
  },
  {
    name: 'a list, a null and a boolean: all of them',
    tables: `create table tasks (id int primary key, kind varchar(10), done_at timestamptz, held boolean not null);
      insert into tasks select n, 'k' || n % 7, case when n % 100 > 0 then now() end, false from generate_series(1, 24000) n`,
    key: 'int',
    pending: query(`select id from tasks t where kind in ('k1', 'k2') and done_at is null and not held`),
    fix: [
      `create index concurrently tasks_id_where_done_at_is_null_and_not_held_and_kind_any_k on public.tasks (id) where done_at IS NULL and NOT held and (kind)::text = ANY ('{k1,k2}'::text[]);`,
    ],
  },
  {
    name: 'a list in a parameter of sql.array',
    tables: `create table fees (id int primary key, kind text);
      insert into fees select n, 'k' || n % 7000 from generate_series(1, 24000) n`,
    key: 'int',
    pending: sql`select id from fees where kind = any(${sql.array(['k1', 'k2'])})`,
    fix: [
      `create index concurrently fees_id_where_kind_any_k1_k2 on public.fees (id) where kind = ANY ('{k1,k2}'::text[]);`,
    ],
  },
  {
    name: 'a key that no index has: every page sorts everything',
    tables: `create table logs (ref int not null);
      insert into logs select -n from generate_series(1, 120000) n`,
    key: 'int',
    pending: query(`select ref from logs`),
    fix: [`create index concurrently logs_ref on public.logs (ref);`],
  },
  {
    name: 'rows that are all at one end: the first pages are quick, the last one reads past everything',
    tables: `create table ends (id int primary key, state text not null);
      insert into ends select n, case when n <= 30000 then 'new' else 'old' end from generate_series(1, 120000) n`,
    key: 'int',
    pending: query(`select id from ends where state = 'new'`),
    fix: [`create index concurrently ends_id_where_state_new on public.ends (id) where state = 'new';`],
  },
  {
    name: 'a row of another table that is missing: by what refers to it',
    tables: `create table docs (id int primary key, open boolean not null);
      create table scans (doc int not null);
      insert into docs select n, n % 5000 = 0 from generate_series(1, 60000) n;
      insert into scans select n from generate_series(1, 120000) n where n % 35000 > 0;
      create index on docs (id) where open`,
    key: 'int',
    pending: query(`select d.id from docs d where d.open and not exists (select 1 from scans s where s.doc = d.id)`),
    fix: [`create index concurrently scans_doc on public.scans (doc);`],
  },
  {
    name: 'a table with partitions: on all of them, and not concurrently',
    tables: `create table visits (id int, day int, state text not null) partition by range (day);
      create table visits_1 partition of visits for values from (0) to (1);
      create table visits_2 partition of visits for values from (1) to (2);
      insert into visits select n, n % 2, case when n % 999 = 0 then 'new' else 'old' end from generate_series(1, 24000) n`,
    key: 'int',
    pending: query(`select id from visits where state = 'new'`),
    fix: [`create index visits_id_where_state_new on public.visits (id) where state = 'new';`],
  },
  {
    name: 'two tables in one query: an index for each',
    tables: `create table ins (id int, state text); create table outs (id int, state text);
      insert into ins select n, case when n % 999 = 0 then 'new' else 'old' end from generate_series(1, 24000) n;
      insert into outs select -n, state from ins i(n, state)`,
    key: 'int',
    pending: query(`select id from ins where state = 'new' union all select id from outs where state = 'new'`),
    fix: [
      `create index concurrently ins_id_where_state_new on public.ins (id) where state = 'new';`,
      `create index concurrently outs_id_where_state_new on public.outs (id) where state = 'new';`,
    ],
  },
  {
    name: 'names that need quotes, and a quote in the value',
    tables: `create table "Order Items" ("Key" int, "order" text);
      insert into "Order Items" select n, case when n % 999 = 0 then 'it''s new' else 'old' end from generate_series(1, 24000) n`,
    key: 'int',
    pending: query(`select "Key" from "Order Items" x where "order" = 'it''s new'`),
    fix: [
      `create index concurrently order_items_key_where_order_it_s_new on public."Order Items" ("Key") where "order" = 'it''s new';`,
    ],
  },
  {
    name: 'an index whose build failed: built again',
    tables: `create table jobs (id int, state text);
      insert into jobs select n, case when n % 999 = 0 then 'new' else 'old' end from generate_series(1, 24000) n;
      create index jobs_new on jobs (id) where state = 'new';
      update pg_index set indisvalid = false where indexrelid = 'jobs_new'::regclass`,
    key: 'int',
    pending: query(`select id from jobs where state = 'new'`),
    fix: [`reindex index concurrently public.jobs_new;`],
  },
]

let database: FreshDatabase
let client: pg.Client
let app: App
let before: DoctorReport
let after: DoctorReport

beforeAll(async () => {
  database = await freshDatabase('doctor_plans')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  app = regrow({ store: postgres(database.url) })
  for (const [i, { tables, key, pending }] of cases.entries()) {
    await client.query(tables)
    app.job(`case.${i}`, { key, pending, run() {} } as never)
  }
  await client.query(`
    create table small (id int primary key, state text);
    insert into small select n, case when n = 1 then 'new' else 'old' end from generate_series(1, 9000) n;
    create table half (id int primary key, state text);
    insert into half select n, case when n % 2 = 0 then 'new' else 'old' end from generate_series(1, 60000) n;
    create table odd (id int primary key, state text);
    insert into odd select n, case when n % 999 = 0 then 'New' else 'old' end from generate_series(1, 60000) n;
    analyze;
    create table fresh (id int primary key, state text) with (autovacuum_enabled = false);
    insert into fresh select n, 'new' from generate_series(1, 60000) n`)
  app.job('small', { key: 'int', pending: sql`select id from small where state = 'new'`, run() {} })
  app.job('half', { key: 'int', pending: sql`select id from half where state = 'new'`, run() {} })
  app.job('odd', { key: 'int', pending: sql`select id from odd where reverse(state) = 'weN'`, run() {} })
  app.job('fresh', { key: 'int', pending: sql`select id from fresh where state = 'new'`, run() {} })
  await operate(app).migrate()
  before = await operate(app).doctor()
  for (const finding of before.findings) for (const each of finding.fix?.split('\n') ?? []) await client.query(each)
  after = await operate(app).doctor()
}, 60_000)
afterAll(async () => {
  await app?.close()
  await client?.end()
  await database?.drop()
})

const of = ({ findings }: DoctorReport, job: string) => findings.filter((each) => each.job === job)

describe('named, made, and then quiet:', () => {
  test.each(cases.map((each, i) => ({ ...each, job: `case.${i}` })))('$name', ({ job, fix, leftOut }) => {
    const found = of(before, job)
    expect(found.map((each) => each.fix).sort()).toEqual(fix)
    for (const { hint } of found) expect(hint).toContain(leftOut ?? 'With this index it')
    expect(of(after, job)).toEqual([])
    const [was, is] = [before, after].map(({ jobs }) => jobs.find((each) => each.job === job))
    expect(was?.page?.rows).toBe(is?.page?.rows)
    // What was said of rows is so afterwards: no more than that, and not far less.
    for (const wish of was?.indexes ?? [])
      if (wish.after && !was?.lastPage) expect(is?.page?.rowsRead).toBeLessThanOrEqual(2 * fix.length * wish.after.rows)
    expect(readBy(is)).toBeLessThan(readBy(was) / 3)
  })
})

const readBy = (costs: JobCosts | undefined) =>
  [costs?.page, costs?.nextPage, costs?.lastPage, costs?.check].reduce((sum, cost) => sum + (cost?.rowsRead ?? 0), 0)

test('of a page that ends a pass and reads past everything it says so, before the rows are many', () => {
  const job = `case.${cases.findIndex(({ name }) => name.includes('at one end'))}`
  const [was, is] = [before, after].map(({ jobs }) => jobs.find((each) => each.job === job))
  for (const cost of [was?.page, was?.nextPage, is?.page, is?.nextPage]) expect(cost?.rowsRead).toBeLessThan(10_010)
  expect(of(before, job)[0]?.message).toContain('its last page reads 90,000 rows')
  expect(was?.lastPage).toMatchObject({ rows: 0, rowsRead: 90_000 })
  expect(is?.lastPage).toMatchObject({ rows: 0, rowsRead: 0 })
})

test('a small table is read whole in a few milliseconds: no finding', () => {
  expect(before.jobs.find(({ job }) => job === 'small')?.page).toMatchObject({ rows: 1, rowsRead: 9_000 })
  expect(of(before, 'small')).toEqual([])
})

test('a page that reads two rows for each that it brings needs no index, and the page after is measured, too', () => {
  const costs = before.jobs.find(({ job }) => job === 'half')
  expect(costs?.page).toMatchObject({ rows: 10_000 })
  expect(costs?.nextPage).toMatchObject({ rows: 10_000 })
  expect(of(before, 'half')).toEqual([])
})

test('a condition that no index is known for is named, and no statement is made up', () => {
  expect(of(before, 'odd')).toMatchObject([
    {
      level: 'warn',
      code: 'reads_much',
      fix: null,
      hint: expect.stringContaining("reverse(state) = 'weN'::text"),
    },
  ])
})

test('a table without statistics is told, and the statement mends it', () => {
  expect(of(before, 'fresh')).toMatchObject([
    { level: 'warn', code: 'stats_missing', fix: 'analyze "public"."fresh";' },
  ])
  expect(of(after, 'fresh')).toEqual([])
})
