// How Postgres plans the statements on big tables: by index, key by key, whether or not anybody has analysed them.
// Tables that churn have no statistics, or those of another hour: a plan that may flip will flip.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setUp } from '../../src/drivers/postgres/client/prepared.ts'
import { walkSettings } from '../../src/drivers/postgres/store/claims/lock-order.ts'
import { migrate } from '../../src/drivers/postgres/store/migrations/migrate.ts'
import { executorOf, transactionOf } from '../../src/drivers/postgres/store/opaque.ts'
import { newestSchema, statementsFor } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import { sqlStore } from '../../src/drivers/postgres/store/store.ts'
import type { SqlDatabase, SqlExecutor } from '../../src/drivers/sql/client.ts'
import { readJob } from '../../src/job/job.ts'
import type { IntentRow } from '../../src/store/intents.ts'
import type { SettleRow } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Total Cost': number
  readonly 'Subplan Name'?: string
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly Node[]
}

let database: FreshDatabase
let client: pg.Client
let store: Store
let recorded: SqlExecutor
/** The statement that the store sent last, and its parameters. */
let sent: { text: string; params: unknown[] }

const uuid = (n: number) => `0191e8a0-7b6c-7def-8123-${String(n).padStart(12, '0')}`
const some = (count: number, step: number) => Array.from({ length: count }, (_, i) => i * step)
const claims = (holder: string) => some(100, 37).map((n) => ({ job: 'a', key: `${holder}.${n}`, take: n }))
const outcomes = (finish: boolean): SettleRow[] =>
  some(100, 11).map((n) => ({
    job: 'mail',
    key: uuid(n),
    take: n,
    state: n % 3 === 0 ? 'retrying' : 'done',
    version: null,
    failures: 1,
    crashes: 0,
    retryMs: 1_000,
    error: null,
    finish: finish && n % 3 !== 0 ? 'intent' : null,
  }))

/** Jobs over the user's tables: one key, and a key of two columns. */
const things = readJob('a', {
  key: 'bigint',
  pending: { text: `select id, version from things where state = 'pending'`, values: [] },
}).job
const parts = readJob('b', {
  key: { tenant: 'int', name: 'text' },
  pending: { text: `select tenant, name from parts where state = 'pending'`, values: [] },
}).job
const mail = { ...readJob('mail', { key: 'uuid', pending: things.query }).job, query: null, custom: null }

beforeAll(async () => {
  database = await freshDatabase('plans')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  recorded = {
    query: (text, params = []) => {
      sent = { text, params: [...params] }
      return client.query(text, [...params])
    },
  }
  const db: SqlDatabase<SqlExecutor> = {
    ...recorded,
    queryTheirs: recorded.query,
    queryWithin: (_timeoutMs, text, params) => recorded.query(text, params),
    transaction: (fn) => fn(recorded, recorded),
  }
  await migrate(db)
  store = sqlStore({ ...db, close: async () => {} }, { exclusive: false })
  for (const table of ['regrow.ledger', 'regrow.intents', 'regrow.workers', 'regrow.sweeps'])
    await client.query(`alter table ${table} set (autovacuum_enabled = false)`)
  await client.query(`
    create table things (id bigint primary key, state text not null, version int not null default 1, note text)
      with (autovacuum_enabled = false);
    create index things_pending on things (id) where state = 'pending';
    create table parts (tenant int, name text, state text not null, primary key (tenant, name))
      with (autovacuum_enabled = false);
    create index parts_pending on parts (tenant, name) where state = 'pending';`)
  const { rows } = await client.query<{ name: string; first: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid, 1, true) as first from pg_index`,
  )
  for (const { name, first } of rows) leading.set(name.replace(/^regrow\./, ''), first)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const all = 'regrow.ledger, regrow.intents, regrow.workers, things, parts'

/** 200,000 rows of the ledger (5,000 of them claims), 100,000 intents, 100,000 rows of the user in each table. */
async function fill(): Promise<void> {
  await client.query(`truncate ${all}`)
  await add()
}

async function add(): Promise<void> {
  await client.query(`
    insert into regrow.workers select 'w' || n, 'host', 1, '{}', now(), now() from generate_series(1, 20) n;
    insert into regrow.ledger (job, key, holder, take, state, failures, retry_at)
      select case when n % 2 = 0 then 'a' else 'b' end, case when n % 2 = 0 then n::text else '["' || n || '","x"]' end,
        case when n % 40 = 0 then 'w' || (n / 40 % 20 + 1) end, case when n % 40 = 0 then n end,
        case when n % 40 = 0 then 'running' when n % 7 = 0 then 'quarantined' else 'retrying' end, 1, now()
      from generate_series(1, 200000) n;
    insert into regrow.intents (id, job, input, created_at)
      select ('0191e8a0-7b6c-7def-8123-' || lpad(n::text, 12, '0'))::uuid, 'mail', '1', now() from generate_series(1, 100000) n;
    insert into things select n, case when n % 20 = 0 then 'pending' else 'done' end, 1, repeat('x', 50)
      from generate_series(1, 100000) n;
    insert into parts select n % 100, n::text, case when n % 20 = 0 then 'pending' else 'done' end
      from generate_series(1, 100000) n;`)
}

/** All of that is over and vacuumed, as between two rushes: tables are empty, and their indexes as tall as they were. */
async function finish(): Promise<void> {
  for (const table of all.split(', ')) await client.query(`delete from ${table}`)
  await client.query('vacuum analyze')
}

/** Runs what sends a statement, in a transaction that is rolled back, and explains that statement. */
async function plan(run: () => Promise<unknown>): Promise<Node[]> {
  await client.query('begin')
  try {
    await run()
    const { text, params } = sent
    const { rows } = await client.query(`explain (format json) ${text}`, params)
    return flat(rows[0]['QUERY PLAN'][0].Plan)
  } finally {
    await client.query('rollback')
  }
}

/** Without what a page does only where the ledger is small: the test after these sees to that. */
const flat = (node: Node): Node[] =>
  node['Subplan Name'] === remembered ? [] : [node, ...(node.Plans ?? []).flatMap(flat)]

const remembered = 'CTE remembered'

/** By index: the column that it begins with. */
const leading = new Map<string, string>()

/** Every look at these tables goes through an index, with a condition on what it begins with: a walk along all of it steps over every dead row. */
function expectIndexes(
  nodes: readonly Node[],
  tables: readonly string[],
  whole: readonly string[] = [],
  name = '',
): void {
  const seen = nodes.filter(
    (node) => tables.includes(node['Relation Name'] ?? '') && node['Node Type'] !== 'ModifyTable',
  )
  expect(seen.length, 'the statement reads none of these tables').toBeGreaterThan(0)
  const bitmaps = nodes.filter((node) => node['Node Type'] === 'Bitmap Index Scan')
  const wrong = [...seen, ...bitmaps].filter((node) => {
    if (node['Node Type'] === 'Bitmap Heap Scan') return false
    // Rows that were found by an index are deleted by where they stand.
    if (node['Node Type'] === 'Tid Scan') return false
    const byIndex = /^(Bitmap )?Index (Only )?Scan$/.test(node['Node Type'])
    const index = node['Index Name'] ?? ''
    return !byIndex || !(whole.includes(index) || node['Index Cond']?.includes(leading.get(index) ?? '?'))
  })
  const told = wrong.map((node) => `${node['Node Type']} on ${node['Relation Name']} ${node['Index Name'] ?? ''}`)
  expect(told, `${name} ${told.join(', ')}`).toEqual([])
}

/** Looks at the ledger, and the index that each goes by. */
const looks = (nodes: readonly Node[]) =>
  nodes
    .filter((node) => node['Relation Name'] === 'ledger' && node['Node Type'] !== 'ModifyTable')
    .map((node) => [node['Node Type'], node['Index Name']])

/** Successes of claims that are held, or their statement would fail. */
const successes = (count: number): SettleRow[] =>
  some(count, 20 * 40).map((n) => ({
    ...(outcomes(false)[1] as SettleRow),
    job: 'a',
    key: `${n + 800}`,
    take: n + 800,
  }))

/** Successes of intents whose takes follow each other. */
const inARow = (count: number): SettleRow[] =>
  some(count, 1).map((n) => ({ ...(outcomes(true)[1] as SettleRow), key: uuid(n), take: 900_000 + n }))

/** A transaction whose last statement takes the COMMIT along, or would. */
const sealing = transactionOf({
  query: (...args) => recorded.query(...args),
  last: (...args) => recorded.query(...args),
})

const pardon = () =>
  store.transaction((tx) => executorOf(tx).query(statementsFor(newestSchema).workers.pardon, ['["w1", "w2"]']))

const aside = () => some(100, 37).map((n) => ({ ...(outcomes(false)[0] as SettleRow), job: 'a', key: `s${n}` }))

/** A hundred intents: some are there already, some have a unique key. */
const intents = (idIsNew: boolean): IntentRow[] =>
  some(100, 3_000).map((n) => {
    const uniqueKey = !idIsNew && n % 2_000 ? `u${n}` : null
    return { id: uuid(idIsNew ? n + 1_000_000 : n), input: '1', inMs: 0, atMs: null, uniqueKey, idIsNew }
  })

/** Run after a crash, or a few times an hour. */
const rare = new Set(['pardon', 'end of the audit'])

/** What is run, the tables it must not read as a whole, and the indexes that it may read from end to end. */
const cases: readonly [name: string, run: () => Promise<unknown>, tables: string[], whole?: string[]][] = [
  // As for suspects; a take of new keys looks for nothing.
  ['take', () => store.ledger.take('w1', claims('x'), { suspects: true }), ['ledger']],
  [
    'alone',
    () => store.ledger.alone('w1', { job: 'a', key: '80', take: 80 }),
    ['ledger'],
    ['ledger_taken', 'ledger_solo'],
  ],
  ['pardon', () => pardon(), ['ledger']],
  ['page of the audit', () => store.audits.page('a', '5', 1_000), ['ledger']],
  ['end of the audit', () => store.audits.write('a', { forget: ['14'], unseen: ['16'], seen: ['18'] }), ['ledger']],
  ['settle', () => store.ledger.settle('w1', outcomes(false)), ['ledger', 'intents']],
  ['settle of intents', () => store.ledger.settle('w1', outcomes(true)), ['ledger', 'intents']],
  ['settle of successes', () => store.ledger.settle('w1', successes(100)), ['ledger']],
  ['settle of takes in a row', () => store.ledger.settle('w1', inARow(100)), ['ledger', 'intents']],
  ['settle of successes with a COMMIT', () => store.ledger.settle('w1', successes(100), sealing), ['ledger']],
  ['settle of one success with a COMMIT', () => store.ledger.settle('w1', successes(1), sealing), ['ledger']],
  ['release', () => store.ledger.release('w1', claims('x')), ['ledger']],
  ['fence', () => store.transaction((tx) => store.ledger.fence('w1', claims('x'), tx)), ['ledger']],
  ['clear', () => store.ledger.clear('a', [{ key: '14', version: 'v2' }]), ['ledger']],
  ['standing', () => store.ledger.standing('a', some(100, 2).map(String)), ['ledger']],
  ['beat', () => store.workers.beat('w1', some(100, 40), 1_000_000, 15_000), ['ledger']],
  // Strangers are looked for among all claims: that index holds the claims and nothing else.
  ['free', () => store.workers.free(15_000), ['ledger'], ['ledger_taken']],
  ['check', () => store.source(things).check(some(100, 20).map(String)), ['things']],
  [
    'check of a composite key',
    () => store.source(parts).check(some(100, 20).map((n) => JSON.stringify([String(n % 100), String(n)]))),
    ['parts'],
  ],
  ['check of intents', () => store.source(mail).check(some(100, 5).map(uuid)), ['intents']],
  ['record of intents', () => store.intents.record('mail', intents(false)), ['intents']],
  ['first page', () => store.source(things).page(null, 10_000, 0, 9), ['things', 'ledger'], ['things_pending']],
  ['page', () => store.source(things).page('50000', 1_000, 0, 9), ['things', 'ledger'], ['things_pending']],
  [
    'page of a composite key',
    () => store.source(parts).page('["50","20050"]', 1_000, 0, 9),
    ['parts', 'ledger'],
    ['parts_pending'],
  ],
  ['page of intents', () => store.source(mail).page(uuid(50_000), 1_000, 0, 9), ['intents', 'ledger']],
]

describe.each([
  ['statistics of the tables as they are', () => fill().then(() => client.query('analyze'))],
  [
    'no statistics at all',
    async () => {
      await client.query('delete from pg_statistic')
      await fill()
    },
  ],
  [
    'statistics from when the tables were empty',
    async () => {
      await client.query(`truncate ${all}`)
      await client.query('analyze')
      await fill()
    },
  ],
  [
    'statistics from when everything was done',
    async () => {
      await fill()
      await finish()
      await add()
    },
  ],
] as const)('with %s', (_name, prepare) => {
  beforeAll(prepare)

  test.each(cases)('%s goes by index, and is not worth compiling', async (statement, run, tables, whole) => {
    const nodes = await plan(run)
    expectIndexes(nodes, tables, whole)
    // The JIT compiler takes 100 ms and more for what runs every second, or for every batch: `jit_above_cost`.
    if (!rare.has(statement)) expect(nodes[0]?.['Total Cost']).toBeLessThan(100_000)
  })

  test('on connections of our own, takes in a row are come by in their order, which is that of their keys (M30)', async () => {
    await client.query(setUp(walkSettings))
    const nodes = await plan(() => store.ledger.settle('w1', inARow(100))).finally(() => client.query('reset all'))
    expect(looks(nodes)).toEqual(Array(2).fill(['Index Scan', 'ledger_taken']))
  })
})

test.each([
  ['a large one', 200_000, 0],
  ['a small one', 200, 1],
])('of the ledger, %s is read for a page so often: %i rows, %i', async (_, rows, times) => {
  await client.query(`
    truncate regrow.ledger;
    insert into regrow.ledger (job, key, state, updated_at) select 'a', 'x' || n, 'retrying', now() from generate_series(1, ${rows}) n`)
  await store.source(things).page('50000', 1_000, 0, 9)
  const { rows: answer } = await client.query(`explain (analyze, format json) ${sent.text}`, sent.params)
  const whole = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(whole)]
  const [part] = whole(answer[0]['QUERY PLAN'][0].Plan).filter((node) => node['Subplan Name'] === remembered)
  const reads = whole(part as Node).filter((node) => node['Relation Name'] === 'ledger')
  expect(reads.map((node) => node['Actual Loops'])).toEqual([times])
})

test('who names keys is led to them by the keys, also where statistics do not know their holder', async () => {
  // A busy holder's index entries are mostly of claims that are over: by holder, each key would read all of them.
  await client.query(`
    truncate regrow.ledger;
    insert into regrow.ledger (job, key, holder, take, state, updated_at)
      select 'a', 'x' || n, 'w2', n, 'running', now() from generate_series(1, 800) n;
    analyze regrow.ledger;
    insert into regrow.ledger (job, key, holder, take, state, updated_at)
      select 'a', n::text, 'w1', n, 'running', now() from generate_series(1, 100000) n;`)
  const held = some(100, 7).map((n) => ({ job: 'a', key: `${n + 1}`, take: n + 1 }))
  const done = held.map((claim) => ({ ...(outcomes(false)[1] as SettleRow), ...claim }))
  const mixed = done.map((row, i) => (i % 2 ? row : { ...row, state: 'retrying' as const }))
  const statements: [string, () => Promise<unknown>][] = [
    ['settle', () => store.ledger.settle('w1', mixed)],
    ['settle of successes', () => store.ledger.settle('w1', done)],
    ['settle of successes with a COMMIT', () => store.ledger.settle('w1', done, sealing)],
    ['settle of one success with a COMMIT', () => store.ledger.settle('w1', done.slice(0, 1), sealing)],
    ['release', () => store.ledger.release('w1', held)],
    ['fence', () => store.transaction((tx) => store.ledger.fence('w1', held, tx))],
  ]
  for (const [name, run] of statements)
    expect(
      (await plan(run)).flatMap((node) => (node['Relation Name'] === 'ledger' ? (node['Index Name'] ?? []) : [])),
      name,
    ).not.toContain('ledger_taken')
})

test('takes in a row are found by their numbers, and not by a walk along the keys', async () => {
  const nodes = await plan(() => store.ledger.settle('w1', inARow(100)))
  const indexes = nodes.flatMap((node) => (node['Index Name']?.startsWith('ledger') ? [node['Index Name']] : []))
  expect(indexes).toEqual(['ledger_taken', 'ledger_taken'])
})

test.each([
  ['the tables were empty', () => client.query(`truncate ${all}`).then(() => client.query('vacuum analyze'))],
  ['everything was done', () => fill().then(finish)],
])('plans that are kept go by index, also when they were made while %s', async (_name, prepare) => {
  await prepare()
  // The settings of a connection whose statements have names, and what becomes of its plans after some calls.
  await client.query(setUp(walkSettings))
  await client.query(`set plan_cache_mode = force_generic_plan`)
  const kept = [
    'take',
    'settle',
    'settle of successes',
    'settle of takes in a row',
    'release',
    'check',
    'check of a composite key',
    'check of intents',
    'record of intents',
  ]
  try {
    for (const [name, run, tables] of cases.filter(([each]) => kept.includes(each))) {
      await client.query('begin')
      await run()
      await client.query('rollback')
      await client.query(`prepare kept as ${sent.text}`)
      const { rows } = await client.query(
        `explain (format json) execute kept(${sent.params.map(() => 'null').join(', ')})`,
      )
      const nodes = flat(rows[0]['QUERY PLAN'][0].Plan)
      expectIndexes(nodes, tables, [], name)
      await client.query('deallocate kept')
    }
  } finally {
    await client.query('reset all')
  }
})

test.each([
  ['remember', 'ledger', () => store.ledger.remember(aside())],
  ['a record of new intents', 'intents', () => store.intents.record('mail', intents(true))],
] as const)('%s needs no look at the %s but its unique index', async (_name, table, run) => {
  const nodes = await plan(run)
  expect(nodes.filter((node) => node['Relation Name'] === table).map((node) => node['Node Type'])).toEqual([
    'ModifyTable',
  ])
})

test.each([
  ['a Seq Scan', 'on', 'select count(failures) from regrow.ledger', /Seq Scan on ledger/],
  [
    'a walk along an index that begins with another column',
    'off',
    `select 1 from regrow.intents where unique_key = 'u'`,
    /Scan on intents intents_unique/,
  ],
])('%s would be seen', async (_name, scans, text, what) => {
  const nodes = await plan(async () => {
    await client.query(`set local enable_seqscan = ${scans}`)
    sent = { text, params: [] }
  })
  expect(() => expectIndexes(nodes, ['ledger', 'intents'])).toThrow(what)
})
