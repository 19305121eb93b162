// Statements of many claims lock their rows in key order (M30), on any connection, whatever its planner is told. Rows lie in the table in
// the opposite order, and another transaction holds the middle one: when a statement waits for that, it must have locked those before it,
// and none behind it. A second batch then crosses the first one.
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setUp } from '../../src/drivers/postgres/client/prepared.ts'
import { walkSettings } from '../../src/drivers/postgres/store/claims/lock-order.ts'
import { sqlState } from '../../src/drivers/postgres/store/errors.ts'
import { executorOf, transactionOf } from '../../src/drivers/postgres/store/opaque.ts'
import { newestSchema, statementsFor } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { outcomes, Stores } from './stores.ts'

/** Nobody dies here, however slow the machine is. */
const leaseMs = 600_000
const count = 30
const middle = 15
const keyOf = (n: number) => `k${String(n).padStart(2, '0')}`
const all = Array.from({ length: count }, (_, n) => keyOf(n))

let stores: Stores
let blocker: pg.Client
let other: pg.Client
beforeAll(async () => {
  stores = await Stores.open('race_lock_order')
  blocker = await stores.client()
  other = await stores.client()
  await stores.query('alter table regrow.ledger set (autovacuum_enabled = false)')
  for (const holder of ['w1', 'w2']) {
    await stores.worker(holder)
    await stores.query('update regrow.workers set lease_ms = $1', [leaseMs])
  }
})
afterAll(() => stores.close())
beforeEach(() => stores.query('truncate regrow.ledger'))

const noIndexes = { enable_indexscan: 'off', enable_indexonlyscan: 'off' }

/** What a session may be told that changes how its statements come by rows; what is set last counts. */
const sessions: Record<string, Record<string, string>> = {
  'a session as the server makes it': {},
  'a session without bitmap scans': { enable_bitmapscan: 'off' },
  'a session without bitmap and sequential scans': { enable_bitmapscan: 'off', enable_seqscan: 'off' },
  'a session without index scans': { ...noIndexes, enable_seqscan: 'off' },
  'a session without any kind of scan': {
    ...noIndexes,
    enable_bitmapscan: 'off',
    enable_seqscan: 'off',
    enable_tidscan: 'off',
  },
  'a session without sorts and nested loops, and with little memory': {
    enable_sort: 'off',
    enable_nestloop: 'off',
    enable_mergejoin: 'off',
    work_mem: '64kB',
    cursor_tuple_fraction: '0.0001',
  },
  'a session of regrow’s own': walkSettings,
  'a session that plans for parallel workers': {
    parallel_setup_cost: '0',
    parallel_tuple_cost: '0',
    min_parallel_table_scan_size: '0',
    min_parallel_index_scan_size: '0',
  },
}

interface Verb {
  /** How far the takes of neighbours are apart; negative: they descend while keys ascend. */
  readonly step: number
  /** Whether the keys are held, or rows of failures. */
  readonly held: boolean
  readonly run: (store: Store, holder: string, claims: readonly Claim[]) => Promise<unknown>
}

const settle: Verb['run'] = (store, holder, claims) => store.ledger.settle(holder, outcomes(claims))
const fail: Verb['run'] = (store, holder, claims) =>
  store.ledger.settle(holder, outcomes(claims, { state: 'retrying', version: 'v1' }))

const verbs: Record<string, Verb> = {
  'a settle along the takes': { step: 1, held: true, run: settle },
  'a settle along takes with gaps': { step: 2, held: true, run: settle },
  'a settle of takes that descend': { step: -1, held: true, run: settle },
  'a settle of takes that are far apart': { step: 100, held: true, run: settle },
  'a settle of failures': { step: 1, held: true, run: fail },
  'a settle that takes the COMMIT along': {
    step: 1,
    held: true,
    run: (store, holder, claims) =>
      store.transaction((tx) => {
        const { query } = executorOf(tx)
        return store.ledger.settle(holder, outcomes(claims), transactionOf({ query, last: query }))
      }),
  },
  'a fence': {
    step: 1,
    held: true,
    run: (store, holder, claims) => store.transaction((tx) => store.ledger.fence(holder, claims, tx)),
  },
  'a release': { step: 1, held: true, run: (store, holder, claims) => store.ledger.release(holder, claims) },
  'a take': {
    step: 1,
    held: false,
    run: (store, holder, claims) => store.ledger.take(holder, claims, { suspects: true }),
  },
}

/** Rows in the table, the last key first. */
async function rows({ step, held }: Pick<Verb, 'step' | 'held'>): Promise<Claim[]> {
  const claims = all.map((key, n) => ({ job: 'a', key, take: 10_000 + step * n }))
  await stores.query(
    `insert into regrow.ledger (job, key, holder, take, state, failures)
       select 'a', x.key, case when $3 then 'w1' end, case when $3 then x.take end, case when $3 then 'running' else 'retrying' end, 1
       from unnest($1::text[], $2::int8[]) with ordinality as x(key, take, place) order by place desc`,
    [all, claims.map(({ take }) => take), held],
  )
  // The planner then knows that all rows lie on one page, where it rather reads that than an index.
  await stores.query('analyze regrow.ledger')
  return claims
}

/** A process whose session is told this, and the number of its backend. */
async function storeIn(session: Record<string, string>): Promise<{ store: Store; client: pg.Client; pid: number }> {
  const client = await stores.client()
  for (const [name, value] of Object.entries(session)) await client.query(`set ${name} = '${value}'`)
  return { store: await stores.store(client), client, pid: await pidOf(client) }
}

const pidOf = async (client: pg.Client): Promise<number> =>
  (await client.query('select pg_backend_pid() as pid')).rows[0].pid

/** Keys whose rows nobody has locked. */
const free = async (): Promise<unknown[]> =>
  (await stores.query('select key from regrow.ledger order by key for update skip locked')).map(({ key }) => key)

describe.each(Object.entries(sessions))('in %s', (_, session) => {
  test.each(Object.entries(verbs))('%s locks in key order, and does not deadlock', async (_name, verb) => {
    const claims = await rows(verb)
    const { store, pid } = await storeIn(session)
    await blocker.query('begin')
    await blocker.query('select 1 from regrow.ledger where key = $1 for update', [keyOf(middle)])
    const first = verb.run(store, 'w1', claims)
    let second: Promise<unknown> = Promise.resolve()
    let unlocked: unknown[] = []
    try {
      await stores.blocked(pid)
      unlocked = await free()
      const beside = await pidOf(other)
      second = other.query('select 1 from regrow.ledger order by key for update')
      await stores.blocked(beside)
    } finally {
      await blocker.query('rollback')
    }
    const ends = await Promise.allSettled([first, second])
    expect(ends.map((end) => (end.status === 'rejected' ? String(end.reason) : 'done'))).toEqual(['done', 'done'])
    expect(unlocked, 'the keys behind the one that it waits for').toEqual(all.slice(middle + 1))
  })
})

/** A key that another transaction has just written cannot be written now. */
async function isWritten(key: string): Promise<boolean> {
  await other.query('begin')
  try {
    await other.query(`set local lock_timeout = '1ms'`)
    await other.query(`insert into regrow.ledger (job, key, state) values ('a', $1, 'retrying')`, [key])
    return false
  } catch (error) {
    if (sqlState(error) !== '55P03') throw error
    return true
  } finally {
    await other.query('rollback')
  }
}

test.each(Object.entries(sessions))('in %s a take of new keys writes them in key order', async (_name, session) => {
  const claims = all.map((key, n) => ({ job: 'a', key, take: 20_000 + n }))
  const [one, two] = [await storeIn(session), await storeIn(session)]
  await blocker.query('begin')
  await blocker.query(`insert into regrow.ledger (job, key, state) values ('a', $1, 'retrying')`, [keyOf(middle)])
  const first = one.store.ledger.take('w1', claims)
  let second: ReturnType<Store['ledger']['take']> | undefined
  const written: string[] = []
  try {
    await stores.blocked(one.pid)
    for (const key of all) if (await isWritten(key)) written.push(key)
    second = two.store.ledger.take('w2', claims)
    await stores.blocked(two.pid)
  } finally {
    await blocker.query('rollback')
  }
  const verdicts = (await Promise.all([first, second])).map((answers) => answers?.map(({ verdict }) => verdict))
  expect(verdicts).toEqual([all.map(() => 'taken'), all.map(() => 'running')])
  expect(written, 'the keys up to the one that it waits for').toEqual(all.slice(0, middle + 1))
})

test('in a session of regrow’s own, whatever its role was given, a settle along the takes locks nothing before it deletes', async () => {
  const claims = await rows({ step: 1, held: true })
  const { client } = await storeIn({ ...noIndexes, enable_bitmapscan: 'on', enable_seqscan: 'on' })
  await client.query(setUp(walkSettings))
  const { rows: answer } = await client.query(
    `explain (analyze, format json) ${statementsFor(newestSchema).claims.settleSpan}`,
    ['w1', null, claims[0]?.take, claims.at(-1)?.take, false, count, true],
  )
  interface Node {
    readonly 'Node Type': string
    readonly 'Actual Rows': number
    readonly Plans?: readonly Node[]
  }
  const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)]
  const locks = flat(answer[0]['QUERY PLAN'][0].Plan).filter((node) => node['Node Type'] === 'LockRows')
  expect(locks.map((node) => node['Actual Rows'])).toEqual([0])
  expect(await stores.query('select key from regrow.ledger')).toEqual([])
})
