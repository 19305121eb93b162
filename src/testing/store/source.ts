// Rules of the check: what is pending now, in a snapshot begun now, and whether the job is paused.
import assert from 'node:assert/strict'
import type { Case } from '../suite.ts'
import { type DeclaredJob, jobName, type StoreContext } from './context.ts'

/** A table of the user's, and a job over it: pending rows with version and run_at. */
export async function things(context: StoreContext, keys: readonly string[]): Promise<DeclaredJob> {
  const table = await context.database.create(
    'things',
    {
      id: 'text',
      state: { type: 'text', default: 'pending' },
      version: { type: 'int', default: 1 },
      run_at: 'time',
    },
    ['id'],
  )
  if (keys.length > 0) await table.insert(keys.map((id) => ({ id })))
  return context.job(
    jobName,
    context.database.pending({
      table: 'things',
      columns: ['id', 'version', 'run_at'],
      where: [{ column: 'state', is: 'pending' }],
    }),
  )
}

/** When things may run: so many ms after the present, or before or after every instant. */
export async function runAt(
  { database }: StoreContext,
  times: Readonly<Record<string, number | 'always' | 'never'>>,
): Promise<void> {
  for (const [id, at] of Object.entries(times))
    await database.table('things').update({ run_at: typeof at === 'number' ? { afterMs: at } : { time: at } }, { id })
}

export const sourceCases: readonly Case<StoreContext>[] = [
  {
    name: 'a check answers for rows that the query returns, with their version, and for no others',
    async run(context) {
      const source = context.store.source(await things(context, ['x', 'y', 'z']))
      await context.database.table('things').update({ state: 'done' }, { id: 'y' })
      await context.database.table('things').update({ version: 7 }, { id: 'z' })
      const { paused, pending } = await source.check(['x', 'y', 'z', 'unknown'])
      assert.equal(paused, false)
      assert.deepEqual([...pending.keys()].sort(), ['x', 'z'])
      assert.deepEqual(pending.get('z'), { key: 'z', version: '7', waitMs: 0, input: null })
      assert.equal(source.versioned, true)
      assert.equal(source.finishes, null)
    },
  },
  {
    name: 'a check sees what was committed before it began',
    async run(context) {
      const source = context.store.source(await things(context, ['x']))
      assert.equal((await source.check(['x'])).pending.size, 1)
      await context.database.table('things').update({ state: 'done' })
      assert.equal((await source.check(['x'])).pending.size, 0)
    },
  },
  {
    name: 'a row whose run_at lies in the future says how long, one in the past or without is pending now',
    async run(context) {
      const source = context.store.source(await things(context, ['past', 'none', 'soon', 'never']))
      await runAt(context, { past: -86_400_000, soon: 90_000, never: 'never' })
      const { pending } = await source.check(['past', 'none', 'soon', 'never'])
      assert.equal(pending.get('past')?.waitMs, 0)
      assert.equal(pending.get('none')?.waitMs, 0)
      assert.ok(Math.abs((pending.get('soon')?.waitMs ?? 0) - 90_000) < 5)
      assert.ok((pending.get('never')?.waitMs ?? 0) > 3_600_000)
      await context.pass(90_000)
      assert.equal((await source.check(['soon'])).pending.get('soon')?.waitMs, 0)
    },
  },
  {
    name: 'a check says when its job is paused, also when nothing is pending, and no longer when the pause is over',
    async run(context) {
      const source = context.store.source(await things(context, ['x']))
      await context.store.pauses.pause(jobName, 'a reason', 'somebody', null)
      assert.equal((await source.check(['x'])).paused, true)
      assert.equal((await source.check(['unknown'])).paused, true)
      await context.store.pauses.resume(jobName, 'somebody')
      assert.equal((await source.check(['x'])).paused, false)
      await context.store.pauses.pause(jobName, 'a reason', 'somebody', 60_000)
      await context.store.pauses.pause('another', 'a reason', 'somebody', null)
      assert.equal((await source.check(['x'])).paused, true)
      await context.pass(60_001)
      assert.equal((await source.check(['x'])).paused, false)
    },
  },
  {
    name: 'parameters of the pending query stay parameters, in the check and in the page',
    async run(context) {
      await things(context, ['x', 'y'])
      await context.database.table('things').update({ state: `it's; drop` }, { id: 'y' })
      const query = context.database.pending({
        table: 'things',
        columns: ['id'],
        where: [
          { column: 'state', is: `it's; drop` },
          { column: 'version', below: 5 },
        ],
      })
      const source = context.store.source(context.job(jobName, query))
      assert.deepEqual([...(await source.check(['x', 'y'])).pending.keys()], ['y'])
      const page = await source.page(null, 10, 0, 5_000)
      assert.deepEqual(
        page.rows.map(({ key }) => key),
        ['y'],
      )
      assert.equal(source.versioned, false)
    },
  },
  {
    name: 'a query that ends in a comment, has its own WITH, or unites tables is read as it is',
    async run(context) {
      await things(context, ['x', 'y'])
      const ways = [
        { written: 'with_a_comment' },
        { written: 'over_an_expression', where: [{ column: 'state', is: 'pending' }] },
        { written: 'as_a_union', where: [{ column: 'id', is: 'x' }] },
        { written: 'as_distinct_rows' },
      ] as const
      for (const way of ways) {
        const query = context.database.pending({ table: 'things', columns: ['id'], ...way })
        const source = context.store.source(context.job(jobName, query))
        assert.deepEqual([...(await source.check(['x', 'y', 'z'])).pending.keys()].sort(), ['x', 'y'], way.written)
        const page = await source.page(null, 10, 0, 5_000)
        assert.deepEqual(
          page.rows.map(({ key }) => key),
          ['x', 'y'],
          way.written,
        )
      }
    },
  },
  {
    name: 'a source of the user answers through page and isPending, joined with what the ledger knows',
    async run(context) {
      const { store } = context
      const rows = ['a', 'b', 'c', 'd'].map((key) => ({ key, version: 'v1', runAt: null }))
      const job = context.job(jobName, {
        page: async (after: string | null, limit: number) =>
          rows.filter(({ key }) => after === null || key > after).slice(0, limit),
        isPending: async (keys: readonly string[]) => rows.filter(({ key }) => keys.includes(key)),
      } as never)
      const quarantined = { job: jobName, key: 'b', state: 'quarantined' as const, version: 'v1', failures: 1 }
      await store.ledger.remember([{ ...quarantined, crashes: 0, retryMs: 0, error: 'e' }])
      await store.ledger.remember([{ ...quarantined, key: 'c', version: 'v0', crashes: 0, retryMs: 0, error: 'e' }])
      const source = store.source(job)
      const page = await source.page(null, 3, 0, 5_000)
      assert.deepEqual([page.scanned, page.last], [3, 'c'])
      assert.deepEqual(
        page.rows.map(({ key, renewed }) => [key, renewed]),
        [
          ['a', false],
          ['c', true],
        ],
      )
      assert.deepEqual([...(await source.check(['a', 'x'])).pending.keys()], ['a'])
    },
  },
]
