// The coverage contract on real Postgres: states and rows that no job would find are found, whatever the column is made of.
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type App, type Covers, regrow, sql } from '../../src/index.ts'
import { type CoverageReport, operate } from '../../src/operate/index.ts'
import { expectCoverage } from '../../src/testing/expect-coverage.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

let database: FreshDatabase
let pool: pg.Pool
const apps: App[] = []

beforeAll(async () => {
  database = await freshDatabase('coverage')
  pool = new pg.Pool({ connectionString: database.url, max: 4 })
  const app = appOf()
  await operate(app).migrate()
})

beforeEach(async () => {
  await pool.query(`drop schema if exists app cascade; drop schema if exists "Odd ""one" cascade; create schema app`)
})

afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()))
  await pool.end()
  await database.drop()
})

function appOf(store: Parameters<typeof postgres>[0] = pool): App {
  const app = regrow({ store: postgres(store), migrate: false }) as unknown as App
  apps.push(app)
  return app
}

interface Query {
  readonly text: string
  readonly values: readonly unknown[]
}

/** An app of jobs with an int key: the pending query of each, and what it covers. */
function jobs(declared: Record<string, Query | { pending: Query; covers: Covers | Covers[] }>): App {
  const app = appOf()
  for (const [name, given] of Object.entries(declared))
    app.job(name, { key: 'int', ...('pending' in given ? given : { pending: given }) })
  return app
}

const told = ({ findings }: CoverageReport) =>
  findings.map(({ level, code, message }) => `${level} ${code}: ${message}`)
const databases: Covers = { table: 'app.databases', column: 'state', terminal: ['ready', 'failed'] }

async function enumTable(values = ['pending', 'creating', 'ready', 'failed']) {
  await pool.query(`
    create type app.state as enum (${values.map((value) => `'${value}'`).join(', ')});
    create table app.databases (id int primary key, state app.state not null default 'pending', attempts int default 0,
      deleted_at timestamptz, next_run_at timestamptz)`)
}

describe('rows that wait for another row', () => {
  beforeEach(async () => {
    await enumTable(['pending', 'ready', 'failed'])
    await pool.query(`
      create type app.branch_state as enum ('attaching', 'pending', 'ready');
      create table app.branches (id int primary key, database_id int not null, state app.branch_state not null, tries int not null default 0);
      insert into app.databases (id, state) values (1, 'pending'), (2, 'ready');
      insert into app.branches values (10, 1, 'pending'), (20, 2, 'pending'), (30, 1, 'attaching')`)
  })
  const create = { pending: sql`select id from app.databases where state = 'pending'`, covers: databases }
  const branch = (waits?: Covers['waits']): Covers => ({
    ...{ table: 'app.branches', column: 'state', terminal: ['ready'] },
    ...(waits && { waits }),
  })
  const joined = sql`select b.id from app.branches b join app.databases d on d.id = b.database_id
    where b.state = 'pending' and d.state = 'ready'`

  test('are told apart from rows and states that no job will ever find', async () => {
    const app = jobs({ 'database.create': create, 'branch.create': { pending: joined, covers: branch() } })
    expect(told(await operate(app).coverage())).toEqual([
      `bad state_unclaimed: app.branches.state: 'attaching' is neither terminal nor claimed by any job; 1 row (30)`,
      `warn rows_waiting: app.branches.state: 'pending': no pending query returns 1 row (10) now; branch.create also asks app.databases, and may return them when a row there changes (database.create works on that)`,
    ])
    await pool.query(`insert into app.branches values (40, 2, 'pending', 9)`)
    const alone = sql`select id from app.branches where state = 'pending' and tries < 5`
    const own = jobs({ 'branch.create': { pending: alone, covers: branch({ attaching: 'its database is ready' }) } })
    expect(told(await operate(own).coverage())).toEqual([
      `bad rows_unclaimed: app.branches.state: 'pending': no pending query returns 1 row (40)`,
      `note state_waits: app.branches.state: 'attaching' waits for something else: its database is ready; 1 row (30)`,
    ])
  })

  test('are a note when `waits` names their state, and expectCoverage accepts them', async () => {
    const waits = { attaching: 'its database is ready', pending: 'its database is ready' }
    const app = jobs({ 'database.create': create, 'branch.create': { pending: joined, covers: branch(waits) } })
    expect(told(await expectCoverage(app))).toEqual([
      `note state_waits: app.branches.state: 'attaching' waits for something else: its database is ready; 1 row (30)`,
      `note state_waits: app.branches.state: 'pending' waits for something else: its database is ready; 1 row (10)`,
    ])
    const { findings } = await operate(app).doctor()
    expect(findings.filter(({ code }) => code === 'state_waits').map(({ level }) => level)).toEqual(['note', 'note'])
    const misspelt = jobs({ 'branch.create': { pending: joined, covers: branch({ ...waits, ataching: 'x' }) } })
    expect(told(await operate(misspelt).coverage())).toContain(
      `warn waits_unknown: app.branches.state cannot be 'ataching', which \`waits\` names`,
    )
  })

  test('are told of when a job of another table asks for them by an exists', async () => {
    const attach = sql`select d.id from app.databases d where d.state = 'ready'
      and exists (select 1 from app.branches b where b.database_id = d.id and b.state = 'attaching')`
    const app = jobs({
      'database.attach': attach,
      'branch.create': { pending: sql`select id from app.branches where state = 'pending'`, covers: branch() },
    })
    expect(told(await operate(app).coverage())).toEqual([
      `warn state_asked_elsewhere: app.branches.state: 'attaching' is claimed by no job itself; database.attach asks for such rows in a join or subquery, for the sake of rows of another table; 1 row (30)`,
    ])
  })
})

test('a state that was added to an enum without a job is found, with the rows that have it', async () => {
  await enumTable()
  const app = jobs({
    'database.create': {
      pending: sql`select id from app.databases where state in ('pending', 'creating')`,
      covers: databases,
    },
  })
  expect(told(await operate(app).coverage())).toEqual([])
  await pool.query(`alter type app.state add value 'archiving'`)
  expect(told(await operate(app).coverage())).toEqual([
    `bad state_unclaimed: app.databases.state: 'archiving' is neither terminal nor claimed by any job`,
  ])
  await pool.query(`insert into app.databases (id, state) select n, 'archiving' from generate_series(1, 7) n`)
  const report = await operate(app).coverage()
  expect(told(report)).toEqual([
    `bad state_unclaimed: app.databases.state: 'archiving' is neither terminal nor claimed by any job; 7 rows (1, 2, 3, 4, 5, …)`,
  ])
  expect(report.covered).toBe(false)
  const doctor = await operate(app).doctor()
  expect(doctor.healthy).toBe(false)
  expect(doctor.findings).toContainEqual(report.findings[0])
  expect(report.columns[0]).toMatchObject({ table: 'app.databases', column: 'state', from: 'enum', bounded: null })
})

test('a value that the query hides behind a cast is told apart all the same', async () => {
  await enumTable()
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state::text like 'pend%'`, covers: databases },
  })
  expect(told(await operate(app).coverage())).toEqual([
    `bad state_unclaimed: app.databases.state: 'creating' is neither terminal nor claimed by any job`,
  ])
})

test('values of a CHECK constraint, of a domain and of a boolean are known without a row', async () => {
  await pool.query(`
    create domain app.phase as text check (value = 'open' or value = 'closed' or value in ('lost'));
    create table app.orders (id int primary key, state varchar(20) check (state in ('new', 'it''s odd', 'done')),
      phase app.phase, level smallint check (level between 0 and 3), paid boolean not null default false,
      note text check (note like 'a%'))`)
  const of = async (column: string, where: string, terminal: Covers['terminal']) => {
    const pending = { text: `select id from app.orders where ${where}`, values: [] }
    const app = jobs({
      'order.go': { pending, covers: { table: 'app.orders', column, ...(terminal && { terminal }) } },
    })
    const report = await operate(app).coverage()
    return [report.columns[0]?.from, ...told(report).map((line) => line.replace(/ (is neither|cannot be).*/, ' $1'))]
  }
  expect(await of('state', `state = 'new'`, ['done'])).toEqual([
    'check',
    `bad state_unclaimed: app.orders.state: 'it''s odd' is neither`,
  ])
  expect(await of('phase', `phase = 'open'`, ['closed'])).toEqual([
    'check',
    `bad state_unclaimed: app.orders.phase: 'lost' is neither`,
  ])
  expect(await of('level', 'level < 3', [])).toEqual(['check', `bad state_unclaimed: app.orders.level: '3' is neither`])
  expect(await of('paid', 'not paid', [true])).toEqual(['boolean'])
  expect(await of('paid', 'paid', undefined)).toEqual([
    'boolean',
    `bad state_unclaimed: app.orders.paid: 'false' is neither`,
  ])
  expect(await of('note', `note = 'x'`, ['y'])).toEqual(['rows'])
})

test.each([
  ['without an index', ''],
  ['with one', 'create index on app.mails (state)'],
])('a plain text column is known by its rows, %s', async (_, index) => {
  await pool.query(`create table app.mails (id int primary key, state text);
    insert into app.mails values (1, 'new'), (2, 'sent'), (3, 'bounced'), (4, 'bounced'), (5, null); ${index}`)
  const covers = { table: 'app.mails', column: 'state', terminal: ['snet'] }
  const app = jobs({ 'mail.send': { pending: sql`select id from app.mails where state = ${'new'}`, covers } })
  expect(told(await operate(app).coverage())).toEqual([
    `bad state_unclaimed: app.mails.state: 'bounced' is neither terminal nor claimed by any job; 2 rows (3, 4)`,
    `bad state_unclaimed: app.mails.state: 'sent' is neither terminal nor claimed by any job; 1 row (2)`,
    `bad state_unclaimed: app.mails.state: null is neither terminal nor claimed by any job; 1 row (5)`,
    `warn terminal_unknown: app.mails.state has no row with 'snet', which \`terminal\` names; did you mean 'sent'?`,
  ])
})

test('rows of a claimed state that the query leaves out are listed; a run_at in the future leaves none out', async () => {
  await enumTable(['pending', 'ready', 'failed'])
  await pool.query(`insert into app.databases (id, attempts, next_run_at)
    select n, n, now() + interval '1 day' from generate_series(1, 9) n`)
  const pending = (query: Query) =>
    operate(jobs({ 'database.create': { pending: query, covers: databases } })).coverage()
  expect(told(await pending(sql`select id from app.databases where state = 'pending' and attempts < 8`))).toEqual([
    `bad rows_unclaimed: app.databases.state: 'pending': no pending query returns 2 rows (8, 9)`,
  ])
  expect(told(await pending(sql`select id, next_run_at as run_at from app.databases where state = 'pending'`))).toEqual(
    [],
  )
  expect(
    told(await pending(sql`select id from app.databases where state = 'pending' and next_run_at <= now()`)),
  ).toEqual([
    `note rows_not_yet: app.databases.state: 'pending': no pending query returns 9 rows (1, 2, 3, 4, 5, …) now; database.create may later, by the clock`,
  ])
})

test('more unclaimed rows than are counted are told as more', async () => {
  await enumTable(['pending', 'ready', 'failed'])
  await pool.query(`insert into app.databases (id, state) select n, 'pending' from generate_series(1, 1001) n`)
  const app = jobs({
    'database.create': {
      pending: sql`select id from app.databases where state = 'pending' and attempts > 0`,
      covers: databases,
    },
  })
  expect(told(await operate(app).coverage())).toEqual([
    expect.stringContaining(`'pending': no pending query returns more than 1000 rows (`),
  ])
})

test('several jobs cover one table together; a state that two of them claim, and lists that differ, are told', async () => {
  await enumTable()
  await pool.query(`insert into app.databases (id, state) values (1, 'pending'), (2, 'creating'), (3, 'ready')`)
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
    'database.watch': {
      // Another spelling of the same table, and no list of its own.
      pending: sql`select d.id from app.databases d where d.state = ${'creating'} or d.state = ${'pending'}`,
      covers: { table: '"app".databases', column: 'STATE' },
    },
    'database.bill': {
      pending: sql`select id from app.databases where state = 'ready'`,
      covers: { ...databases, terminal: ['failed', 'redy'] },
    },
  })
  const report = await operate(app).coverage()
  expect(told(report)).toEqual([
    `warn terminal_claimed: app.databases.state: 'ready' is called terminal, and database.bill claims it`,
    `warn terminal_unknown: app.databases.state cannot be 'redy', which \`terminal\` names`,
    `warn terminal_differs: app.databases.state: jobs differ in what is terminal: database.create says 'failed', 'ready'; database.bill says 'failed', 'redy'`,
    `warn rows_shared: app.databases: database.create and database.watch both claim 1 row (1)`,
  ])
  expect(report.columns).toHaveLength(1)
  expect(report.columns[0]?.values.map(({ value, claims }) => [value, claims.map(({ job }) => job)])).toEqual([
    ['pending', ['database.create', 'database.watch']],
    ['creating', ['database.watch']],
    ['ready', ['database.bill']],
    ['failed', []],
  ])
})

test('a job that does not cover the table claims its states as well, and that is told as a note', async () => {
  await enumTable()
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
    'database.watch': sql`select id from app.databases where state = 'creating'`,
    'other.job': sql`select n as id from (values (1)) v(n)`,
  })
  expect(told(await operate(app).coverage())).toEqual([
    `note claim_undeclared: app.databases.state: 'creating' is claimed by database.watch alone, which does not cover the column`,
  ])
})

test('a job that returns rows in every state hides none: the state that it alone claims is worth a change', async () => {
  await enumTable()
  await pool.query(`alter table app.databases add column if not exists indexed_at timestamptz`)
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
    'search.index': sql`select id from app.databases where indexed_at is null`,
  })
  const report = await operate(app).coverage()
  expect(report.covered).toBe(false)
  expect(told(report)).toContain(
    `warn claim_undeclared: app.databases.state: 'creating' is claimed by search.index alone, which does not cover the column`,
  )
})

test('rows of a table that nobody covers, and options that are none, are refused', async () => {
  await enumTable()
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
  })
  await expect(operate(app).coverage({ rows: { databasses: [] } })).rejects.toMatchObject({
    code: 'bad_options',
    message: expect.stringContaining('did you mean "databases"?'),
  })
  await expect(operate(app).coverage({ row: {} } as object)).rejects.toMatchObject({ code: 'bad_options' })
})

test('two jobs that would claim the same rows are told where there are none yet; those that ask for more than the state are not', async () => {
  await enumTable()
  await pool.query(`truncate app.databases; alter table app.databases add column if not exists region text`)
  const both = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
    'database.watch': {
      pending: sql`select id from app.databases where state in ('pending', 'creating')`,
      covers: databases,
    },
  })
  expect(told(await operate(both).coverage())).toEqual([
    `warn rows_shared: app.databases: database.create and database.watch both claim a row whose state is 'pending'`,
  ])
  const apart = (region: string, ...states: string[]) => ({
    pending: sql`select id from app.databases where state::text = any (${`{${states.join(',')}}`}::text[]) and region = ${region}`,
    covers: databases,
  })
  const app = jobs({
    'eu.create': apart('eu', 'pending', 'creating'),
    'us.create': apart('us', 'pending', 'creating'),
  })
  const rows = { 'app.databases': [{ region: 'eu' }, { region: 'us' }] }
  expect(told(await operate(app).coverage({ rows })).filter((line) => line.includes('rows_shared'))).toEqual([])
})

test('composite keys, odd names and odd values are held against rows as they are', async () => {
  await pool.query(`
    create schema "Odd ""one";
    create type "Odd ""one"."St's" as enum ('go "on"', 'it''s $1', 'done; --');
    create table "Odd ""one"."Order Items" ("Tenant Id" uuid, "no." int, "Sta te" "Odd ""one"."St's" not null,
      primary key ("Tenant Id", "no."));
    insert into "Odd ""one"."Order Items" values
      ('00000000-0000-0000-0000-000000000001', 1, 'go "on"'), ('00000000-0000-0000-0000-000000000001', 2, 'it''s $1'),
      ('00000000-0000-0000-0000-000000000002', 2, 'go "on"')`)
  const app = appOf()
  const covers = { table: 'Odd "one.Order Items', column: 'Sta te', terminal: ['done; --'] }
  app.job('item.go', {
    key: { tenant: 'uuid', number: 'int' },
    pending: sql`select "Tenant Id" as tenant, "no." as number from "Odd ""one"."Order Items" /* $9 /* 'x */ */
      where "Odd ""one"."Order Items"."Sta te" = ${'go "on"'} and "no." < ${2} and 'a$1' <> $$b'$1$$ -- it's`,
    covers,
  })
  expect(told(await operate(app).coverage())).toEqual([
    `bad rows_unclaimed: Odd "one.Order Items.Sta te: 'go "on"': no pending query returns 1 row (["00000000-0000-0000-0000-000000000002","2"])`,
    `bad state_unclaimed: Odd "one.Order Items.Sta te: 'it''s $1' is neither terminal nor claimed by any job; 1 row (["00000000-0000-0000-0000-000000000001","2"])`,
  ])
})

test("a source of one's own is asked about the rows", async () => {
  await enumTable()
  await pool.query(`insert into app.databases (id, state) values (1, 'pending'), (2, 'pending'), (3, 'creating')`)
  const app = appOf()
  app.job('database.create', {
    key: 'int',
    pending: {
      page: async () => [],
      isPending: async (keys) => keys.filter((key) => key !== 2).map((key) => ({ key })),
    },
    covers: databases,
  })
  expect(
    (await operate(app).coverage()).columns[0]?.values.map(({ value, unclaimed }) => [value, unclaimed?.keys]),
  ).toEqual([
    ['pending', ['2']],
    ['creating', []],
    ['ready', undefined],
    ['failed', undefined],
  ])
})

test('what cannot be told is said to be unknown, never proven', async () => {
  await enumTable(['pending', 'ready', 'failed'])
  await pool.query(
    `create table app.owners (id int primary key, plan text); create view app.dbs as select * from app.databases`,
  )
  const coverage = (query: Query, options = {}) =>
    operate(jobs({ 'database.create': { pending: query, covers: databases } })).coverage(options)
  const unknown = `note state_unknown: app.databases.state: 'pending': it is not known whether database.create claims it`
  // It needs a row of another table, or one with more attempts than any has.
  expect(
    told(await coverage(sql`select d.id from app.databases d join app.owners o using (id) where d.state = 'pending'`)),
  ).toEqual([unknown])
  const attempted = sql`select id from app.databases where state = 'pending' and attempts between 3 and 5`
  expect(told(await coverage(attempted))).toEqual([unknown])
  expect(told(await coverage(attempted, { rows: { 'app.databases': [{ attempts: 4 }] } }))).toEqual([])
  expect(told(await coverage(sql`select id from app.dbs where state = 'pending'`))).toEqual([unknown])
  // Half of it through a view: the row that it would return is not the one that was tried.
  await pool.query(`insert into app.databases (id, state) values (1, 'ready')`)
  const half = sql`select d.id from app.databases d join app.dbs v using (id) where v.state::text = 'ready'`
  expect(told(await coverage(half))).toEqual([
    expect.stringContaining(`warn terminal_claimed: app.databases.state: 'ready'`),
    unknown,
  ])
  await pool.query('delete from app.databases')
  expect(
    told(await coverage(sql`select id from app.databases where state = 'pending' union all select id from app.owners`)),
  ).toEqual([unknown])
})

test('a table or column that is not there, and a query that reads another table, are told', async () => {
  await enumTable(['pending', 'ready', 'failed'])
  const pending = sql`select id from app.databases where state = 'pending'`
  const app = jobs({
    a: { pending, covers: { ...databases, table: 'databases' } },
    b: { pending, covers: { ...databases, column: 'status' } },
    c: { pending: sql`select 1 as id`, covers: databases },
    d: { pending: sql`select oid as id from app.databases`, covers: databases },
    e: { pending, covers: databases },
  })
  expect(told(await operate(app).coverage()).slice(0, 4)).toEqual([
    'bad covers_missing: a: it covers databases.state, and there is no table "databases"',
    'bad covers_missing: b: it covers app.databases.status, and "app.databases" has no column "status"',
    'warn covers_unread: c: it covers app.databases.state, and its pending query does not read that table',
    expect.stringContaining(
      'warn covers_query: d: it covers app.databases.state, and its pending query cannot be asked: ',
    ),
  ])
})

test('a partitioned table, and a key that comes from another table', async () => {
  await pool.query(`
    create table app.parts (id int, state text check (state in ('new', 'old', 'odd')), primary key (id, state)) partition by list (state);
    create table app.parts_new partition of app.parts for values in ('new');
    create table app.parts_rest partition of app.parts default;
    insert into app.parts values (1, 'new'), (2, 'odd');
    create table app.refs (id int, part_id int)`)
  const covers = { table: 'app.parts', column: 'state', terminal: ['old'] }
  const plain = jobs({ 'part.go': { pending: sql`select id from app.parts where state = 'new'`, covers } })
  expect(told(await operate(plain).coverage())).toEqual([
    `bad state_unclaimed: app.parts.state: 'odd' is neither terminal nor claimed by any job; 1 row (2)`,
  ])
  await pool.query('insert into app.refs values (2, 1)')
  const query = sql`select r.part_id from app.refs r join app.parts p on p.id = r.part_id where p.state = 'new'`
  const foreign = (key: object) =>
    operate(jobs({ 'part.go': { pending: query, covers: { ...covers, ...key } } })).coverage()
  expect(told(await foreign({}))).toEqual([
    `bad state_unclaimed: app.parts.state: 'odd' is neither terminal nor claimed by any job; 1 row (["2","odd"])`,
    expect.stringContaining('warn covers_key: part.go'),
  ])
  expect(told(await foreign({ key: 'id' }))).toHaveLength(1)
  // Of the same name, and another table's.
  const other = sql`select r.id from app.refs r join app.parts p on p.id = r.part_id where p.state = 'new'`
  expect(told(await operate(jobs({ 'part.go': { pending: other, covers } })).coverage())[1]).toContain('covers_key')
})

test('behind a transaction pooler the answer is the same', async () => {
  await enumTable()
  const app = appOf(database.bouncerUrl)
  const pending = sql`select id from app.databases where state = ${'pending'}`
  app.job('database.create', { key: 'int', pending, covers: databases })
  expect(told(await operate(app).coverage())).toEqual([
    `bad state_unclaimed: app.databases.state: 'creating' is neither terminal nor claimed by any job`,
  ])
})

test('nothing is written, and no lock is left, by asking', async () => {
  await enumTable()
  await pool.query(`insert into app.databases (id) values (1)`)
  const app = jobs({
    'database.create': { pending: sql`select id from app.databases where state = 'pending'`, covers: databases },
  })
  const rows = () => pool.query(`select xmin, xmax, * from app.databases`)
  const before = (await rows()).rows
  await operate(app).coverage({ rows: { 'app.databases': [{ id: 2 }] } })
  expect((await rows()).rows).toEqual(before)
})

test('a query that cannot be built or run makes its states unknown, and spoils nothing else', async () => {
  await enumTable()
  await pool.query(`insert into app.databases (id, state) values (1, 'pending')`)
  const failing = { page: async () => [], isPending: () => Promise.reject(new Error('no connection')) }
  const app = appOf()
  app.job('built', { key: 'int', pending: () => JSON.parse('no query'), covers: databases })
  app.job('custom', { key: 'int', pending: failing, covers: databases })
  app.job('other', { key: 'int', pending: () => JSON.parse('none of app.databases') })
  expect(told(await operate(app).coverage())).toEqual([
    expect.stringContaining(
      'warn covers_query: built: it covers app.databases.state, and its pending query cannot be asked: ',
    ),
    `note state_unknown: app.databases.state: 'pending': it is not known whether built, custom claim it`,
    `note state_unknown: app.databases.state: 'creating': it is not known whether built, custom claim it`,
  ])
  const alone = appOf()
  alone.job('custom', { key: 'int', pending: failing, covers: databases })
  expect(told(await operate(alone).coverage())[0]).toBe(
    'warn coverage_refused: app.databases.state: a question about it was refused: Job "custom": isPending() of its source threw: no connection',
  )
})
