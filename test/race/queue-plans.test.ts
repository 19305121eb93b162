// How Postgres plans the statements of its queue: hints are reached key by key, or by lane and due time, whatever it knows of
// their table. It is full at one moment and empty at the next: statistics are always those of another one.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { PostgresQueue } from '../../src/drivers/postgres/queue/postgres-queue.ts'
import { statements } from '../../src/drivers/postgres/queue/statements.gen.ts'
import { migrate } from '../../src/drivers/postgres/store/migrations/migrate.ts'
import { statements as claimStatements } from '../../src/drivers/postgres/store/statements.gen.ts'
import { sqlStore } from '../../src/drivers/postgres/store/store.ts'
import type { SqlExecutor } from '../../src/drivers/sql/client.ts'
import { readJob } from '../../src/job/job.ts'
import type { Store } from '../../src/store/store.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Node[]
}

let database: FreshDatabase
let client: pg.Client
let store: Store
let sent: { text: string; params: unknown[] }[] = []

const recorded: SqlExecutor = {
  query: async (text, params = []) => {
    sent.push({ text, params: [...params] })
    await client.query('savepoint before')
    // A key that is there is an error to some, and they go on.
    return client.query(text, [...params]).catch(async (error: unknown) => {
      await client.query('rollback to before')
      throw error
    })
  },
}
const db = {
  ...recorded,
  queryTheirs: recorded.query,
  queryWithin: async (_timeoutMs: number, text: string, params?: Parameters<SqlExecutor['query']>[1]) => {
    await client.query('set local jit = off')
    return recorded.query(text, params)
  },
  transaction: <T>(fn: (tx: SqlExecutor, own: unknown) => Promise<T>) => fn(recorded, recorded),
}

beforeAll(async () => {
  database = await freshDatabase('queue_plans')
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin')
  await migrate(db)
  await client.query('commit')
  store = sqlStore({ ...db, close: async () => {} }, { exclusive: false }) as Store
  await client.query(`
    alter table regrow.hints set (autovacuum_enabled = false);
    create table things (id int primary key);
    insert into things select generate_series(1, 30000);
    analyze things;
    insert into regrow.canary (epoch, sequence) values (1, 1)`)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

/** Hints of two jobs, in both lanes, half of them delayed. */
const fill = (count: number) =>
  client.query(`
    truncate regrow.hints;
    insert into regrow.hints (job, key, fresh, due_at)
      select case when n % 4 = 0 then 'b' else 'a' end, n::text, n % 3 = 0,
        now() + make_interval(secs => case when n % 2 = 0 then n else -n end)
      from generate_series(1, ${count}) n`)

const queue = () => new PostgresQueue(recorded, { clock: systemClock, pages: db })
const hints = (delayMs: (n: number) => number, fresh = true) =>
  Array.from({ length: 150 }, (_, n) => ({ job: n % 50 ? 'a' : 'b', key: `${n * 7}`, delayMs: delayMs(n), fresh }))
const jobs = ['a', 'b', 'c', 'd'].map((job) => ({ job, limit: 100 }))

/** Two pops: the first begins at the beginning of each lane, the second where that one ended. */
async function pop(): Promise<unknown> {
  const popper = queue()
  await popper.pop({ jobs, limit: 100, waitMs: 0 })
  return popper.pop({ jobs, limit: 100, waitMs: 0 })
}

async function page(): Promise<unknown> {
  const { job } = readJob('a', { key: 'int', pending: { text: 'select id from things', values: [] } })
  const page = await store.source(job).serverPages?.page('500', 10_000, 0)
  return queue().filler?.fill({ job: 'a', page: page as never, limit: 10_000, timeoutMs: 9_000, epoch: 1 })
}

/** What is run, which of its statements is meant, and the indexes by which that one may reach hints. */
const cases: readonly [name: string, run: () => Promise<unknown>, which: RegExp, indexes: string[]][] = [
  ['pop', pop, /skip locked/, ['hints_due']],
  ['push', () => queue().push(hints((n) => (n % 2) * 1_000)), /on conflict/, ['hints_due', 'hints_key']],
  ['push of swept hints', () => queue().push(hints((n) => n % 2, false)), /on conflict/, ['hints_due', 'hints_key']],
  ['push into one lane', () => queue().push(hints(() => 0, false).slice(1, 49)), /as movable/, ['hints_key']],
  ['room', () => queue().push(hints(() => 0).slice(1, 49)), /held.most/, ['hints_due']],
  ['count', () => queue().count(['a', 'b', 'c']), /as delayed/, ['hints_due']],
  ['pop of one', () => recorded.query(claimStatements.claims.redeemReceipt, ['a', '7']), /as popped/, ['hints_key']],
  ['peek', () => queue().inspection.peek('a', ['1', '2', '3']), /as due_ms/, ['hints_key']],
  ['page', page, /as sample/, ['hints_key']],
]
/** Statements that have names, and with them plans that are kept. */
const kept: readonly [text: string, indexes: string[]][] = [
  [statements.pop.pop, ['hints_due']],
  [statements.pop.popFresh, ['hints_due']],
  [claimStatements.claims.redeemReceipt, ['hints_key']],
  [statements.push.push, ['hints_due', 'hints_key']],
  [statements.push.pushLane, ['hints_key']],
  [statements.push.room, ['hints_due']],
  [statements.inspect.count, ['hints_due']],
]
/** All hints of some jobs have to be read: most of the table, as it may be. */
const byIndex = cases.filter(([name]) => name !== 'count')

/** Runs something in a transaction that is rolled back; answers the last statement of that kind that it sent. */
async function statementOf(run: () => Promise<unknown>, which: RegExp) {
  sent = []
  await client.query('begin')
  await run()
  await client.query('rollback')
  const found = sent.findLast(({ text }) => which.test(text) && !/^\s*(begin|explain)/.test(text))
  expect(found, `nothing like ${which} was sent`).toBeDefined()
  return found as (typeof sent)[number]
}

const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)]

async function explained(text: string, params: unknown[] = []): Promise<Node[]> {
  const { rows } = await client.query(`explain (format json) ${text}`, params)
  return flat(rows[0]['QUERY PLAN'][0].Plan)
}

/** Hints are reached where they stand, by their key, or by job and lane: nothing else. */
function expectReached(nodes: readonly Node[], indexes: readonly string[]): void {
  const looks = nodes.filter(
    (node) =>
      (node['Relation Name'] === 'hints' &&
        !['ModifyTable', 'Tid Scan', 'Bitmap Heap Scan'].includes(node['Node Type'])) ||
      node['Node Type'] === 'Bitmap Index Scan',
  )
  expect(looks.length, 'the statement reads no hints').toBeGreaterThan(0)
  const wrong = looks.filter((node) => {
    const leads = node['Index Name'] === 'hints_key' ? /key = / : /job = /
    return !indexes.includes(node['Index Name'] ?? '') || !leads.test(node['Index Cond'] ?? '')
  })
  const told = wrong.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''} ${node['Index Cond'] ?? ''}`)
  expect(told.join('\n')).toBe('')
}

describe.each([
  ['a large table and its statistics', () => fill(60_000).then(() => client.query('analyze regrow.hints'))],
  [
    'a large table and no statistics',
    async () => {
      await client.query(`delete from pg_statistic where starelid = 'regrow.hints'::regclass`)
      await fill(60_000)
    },
  ],
  [
    'a large table and statistics from when it was empty',
    async () => {
      await client.query('truncate regrow.hints')
      await client.query('vacuum analyze regrow.hints')
      await fill(60_000)
    },
  ],
  [
    'a large table and statistics from when it was small',
    async () => {
      await fill(100)
      await client.query('analyze regrow.hints')
      await client.query(`insert into regrow.hints (job, key, fresh, due_at)
        select 'a', n::text, false, now() from generate_series(1000, 40000) n`)
    },
  ],
] as const)('%s:', (_name, prepare) => {
  beforeAll(prepare)

  test.each(byIndex)('a %s goes by index', async (_statement, run, which, indexes) => {
    const { text, params } = await statementOf(run, which)
    expectReached(await explained(text, params), indexes)
  })
})

test.each([
  ['empty', 0],
  ['small', 100],
] as const)('a plan that was made while the table was %s, and is kept, goes by index', async (_name, count) => {
  await fill(count)
  await client.query('vacuum analyze regrow.hints')
  // The settings of a connection whose statements have names, and what becomes of its plans after some calls.
  await client.query(`set enable_seqscan = off; set jit = off; set plan_cache_mode = force_generic_plan`)
  try {
    const execute = (i: number) => {
      const params = new Set(kept[i]?.[0].match(/\$\d/g))
      return `execute kept${i}(${[...params].map(() => 'null').join(', ')})`
    }
    for (const [i, [text]] of kept.entries()) {
      await client.query(`prepare kept${i} as ${text}`)
      await explained(execute(i))
    }
    await client.query(`insert into regrow.hints (job, key, fresh, due_at)
      select 'a', n::text, n % 2 = 0, now() from generate_series(1000, 50000) n`)
    for (const [i, [, indexes]] of kept.entries()) expectReached(await explained(execute(i)), indexes)
  } finally {
    await client.query('deallocate all')
    await client.query('reset all')
  }
})

test('a Seq Scan, a walk along a whole index, or a key looked up by its job would be seen', async () => {
  await fill(1_000)
  const looked = async (text: string) => expectReached(await explained(text), ['hints_key'])
  await expect(looked(`select 1 from regrow.hints where fresh`)).rejects.toThrow('Seq Scan')
  await client.query('set enable_seqscan = off')
  await expect(looked(`select key from regrow.hints order by key`)).rejects.toThrow('Scan hints_key ')
  await expect(looked(`select 1 from regrow.hints where job = 'a' and key <> '1'`)).rejects.toThrow('hints_due')
  await looked(`select 1 from regrow.hints where job = 'a' and key = '1'`)
  await client.query('reset all')
})
