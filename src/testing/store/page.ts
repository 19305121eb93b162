// Rules of the page (M37, L6): bounded by rows scanned, filtered inside, and the cursor moves on in any case.
import assert from 'node:assert/strict'
import type { Page, Source } from '../../store/source.ts'
import type { Case } from '../suite.ts'
import { fail, jobName, type StoreContext, take, worker } from './context.ts'
import { runAt, things } from './source.ts'

const keysOf = ({ rows }: Page) => rows.map(({ key }) => key)
/** Bytes of a key at most, in every store and every queue. */
const keyBytesMax = 1_024
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `k${String(i).padStart(3, '0')}`)
const read = (source: Source, after: string | null = null, limit = 100, horizonMs = 0) =>
  source.page(after, limit, horizonMs, 5_000)

export const pageCases: readonly Case<StoreContext>[] = [
  {
    name: 'pages follow each other by key and together show every pending row once',
    async run(context) {
      const source = context.store.source(await things(context, numbered(25)))
      const found: string[] = []
      let after: string | null = null
      for (;;) {
        const page: Page = await read(source, after, 10)
        found.push(...keysOf(page))
        if (page.scanned < 10) break
        after = page.last
      }
      assert.deepEqual(found, numbered(25))
    },
  },
  {
    name: 'an empty page has scanned nothing and has no last key',
    async run(context) {
      const source = context.store.source(await things(context, ['x']))
      const page = await read(source, 'x')
      assert.deepEqual([page.scanned, page.last, keysOf(page)], [0, null, []])
    },
  },
  {
    name: 'a page is bounded by rows scanned, and its last key moves on even when no row is eligible',
    async run(context) {
      const source = context.store.source(await things(context, numbered(10)))
      const holder = await worker(context, 'w1')
      await take(context, holder, numbered(10).slice(0, 5))
      const first = await read(source, null, 5)
      assert.deepEqual([first.scanned, first.last, keysOf(first)], [5, 'k004', []])
      const second = await read(source, first.last, 5)
      assert.deepEqual([second.scanned, keysOf(second)], [5, numbered(10).slice(5)])
    },
  },
  {
    name: 'keys that are live or quarantined are left out of a page',
    async run(context) {
      const source = context.store.source(await things(context, ['bad', 'free', 'held']))
      const holder = await worker(context, 'w1')
      await take(context, holder, ['held'])
      await fail(context, holder, 'bad', { state: 'quarantined', version: '1', retryMs: 0 })
      assert.deepEqual(keysOf(await read(source)), ['free'])
    },
  },
  {
    name: 'a claim of another job, or of a key of the same text there, is nobody else’s business',
    async run(context) {
      const source = context.store.source(await things(context, ['x']))
      await take(context, await worker(context, 'w1'), ['x'], 'another')
      assert.deepEqual(keysOf(await read(source)), ['x'])
    },
  },
  {
    name: 'keys in back-off are left out beyond the horizon, and wait within it',
    async run(context) {
      const source = context.store.source(await things(context, ['far', 'near', 'over']))
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'far', { version: '1', retryMs: 90_000 })
      await fail(context, holder, 'near', { version: '1', retryMs: 30_000 })
      await fail(context, holder, 'over', { version: '1', retryMs: 0 })
      const { rows } = await read(source, null, 100, 60_000)
      assert.deepEqual(
        rows.map(({ key }) => key),
        ['near', 'over'],
      )
      assert.ok(Math.abs((rows[0]?.waitMs ?? 0) - 30_000) < 5)
      assert.equal(rows[1]?.waitMs, 0)
    },
  },
  {
    name: 'rows whose run_at lies beyond the horizon are left out; within it, the later of run_at and back-off counts',
    async run(context) {
      const source = context.store.source(await things(context, ['both', 'far', 'near', 'never']))
      await runAt(context, { far: 90_000, near: 20_000, both: 10_000, never: 'never' })
      await fail(context, await worker(context, 'w1'), 'both', { version: '1', retryMs: 40_000 })
      const { rows, scanned } = await read(source, null, 100, 60_000)
      assert.equal(scanned, 4)
      assert.deepEqual(
        rows.map(({ key, waitMs }) => [key, Math.round(waitMs / 1_000)]),
        [
          ['both', 40],
          ['near', 20],
        ],
      )
    },
  },
  {
    name: 'a row whose run_at is -infinity is due now and stops no other one; it tells nothing of how long rows wait',
    async run(context) {
      const source = context.store.source(await things(context, ['ever', 'never', 'now', 'soon']))
      await runAt(context, { ever: 'always', never: 'never', now: -7_000, soon: 20_000 })
      const { rows, scanned, oldestMs } = await read(source, null, 100, 60_000)
      assert.equal(scanned, 4)
      assert.deepEqual(
        rows.map(({ key, waitMs }) => [key, Math.round(waitMs / 1_000)]),
        [
          ['ever', 0],
          ['now', 0],
          ['soon', 20],
        ],
      )
      assert.equal(oldestMs, 7_000)
      const { pending } = await source.check(['ever', 'never', 'now'])
      assert.equal(pending.get('ever')?.waitMs, 0)
      assert.ok((pending.get('never')?.waitMs ?? 0) > 9 * 365 * 86_400_000)
      for (const id of ['never', 'now', 'soon']) await context.database.table('things').remove({ id })
      assert.deepEqual([(await read(source)).oldestMs, keysOf(await read(source))], [null, ['ever']])
    },
  },
  {
    name: 'a row in another version than the one that failed is renewed: eligible at once, unless it is live',
    async run(context) {
      const source = context.store.source(await things(context, ['bad', 'held', 'later', 'same']))
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'bad', { state: 'quarantined', version: '0' })
      await fail(context, holder, 'later', { version: '0', retryMs: 900_000 })
      await fail(context, holder, 'same', { version: '1', retryMs: 900_000 })
      await fail(context, holder, 'held', { version: '0', retryMs: 0 })
      await take(context, holder, ['held'])
      const { rows } = await read(source, null, 100, 60_000)
      assert.deepEqual(rows, [
        { key: 'bad', version: '1', waitMs: 0, renewed: true },
        { key: 'later', version: '1', waitMs: 0, renewed: true },
      ])
    },
  },
  {
    name: 'a failure without a version is not renewed by one',
    async run(context) {
      const source = context.store.source(await things(context, ['bad', 'later']))
      const holder = await worker(context, 'w1')
      await fail(context, holder, 'bad', { state: 'quarantined', version: null })
      await fail(context, holder, 'later', { version: null, retryMs: 900_000 })
      assert.deepEqual(keysOf(await read(source, null, 100, 60_000)), [])
    },
  },
  {
    name: 'rows whose text is longer than a key may be are read and counted, never eligible, and the cursor can stand on them',
    async run(context) {
      const [fits, long] = ['m'.repeat(keyBytesMax), 'ü'.repeat(keyBytesMax / 2 + 1)]
      const words = await context.database.create('words', { id: 'text_by_bytes' })
      await words.insert(['a', 'b', `b${long}`, fits, `${fits}m`, 'x', long].map((id) => ({ id })))
      const query = context.database.pending({ table: 'words', columns: ['id'] })
      const job = context.job(jobName, query)
      const source = context.store.source(job)
      const all = await read(source)
      assert.deepEqual([all.scanned, keysOf(all), all.last], [7, ['a', 'b', fits, 'x'], long])
      assert.deepEqual([all.unusable?.count, all.unusable?.before], [3, [2, 3, 4]])
      const first = await read(source, null, 3)
      assert.deepEqual([first.scanned, keysOf(first), first.last], [3, ['a', 'b'], `b${long}`])
      const second = await read(source, first.last, 2)
      assert.deepEqual([keysOf(second), second.last, second.unusable?.count], [[fits], `${fits}m`, 1])
      assert.deepEqual(keysOf(await read(source, second.last, 2)), ['x'])
      assert.equal((await read(source, `${fits}m`, 1)).unusable, undefined)
      const { diagnosis } = context.store
      if (!diagnosis) return
      const none = { running: 0, quarantined: 0, backedOff: 0, later: 0 }
      assert.deepEqual(await diagnosis.held(job, null, 100, 0, 5_000), none)
    },
  },
  {
    name: 'of a key of several columns the joined text counts',
    async run(context) {
      const pairs = await context.database.create('pairs', { tenant: 'int', name: 'text_by_bytes' })
      const room = keyBytesMax - '["1",""]'.length
      await pairs.insert([
        { tenant: 1, name: 'n'.repeat(room) },
        { tenant: 1, name: 'n'.repeat(room + 1) },
        { tenant: 2, name: 'x' },
      ])
      const query = context.database.pending({ table: 'pairs', columns: ['tenant', 'name'] })
      const job = context.job(jobName, query, { tenant: 'int', name: 'text' })
      const source = context.store.source(job)
      const page = await read(source, null, 2)
      assert.deepEqual([page.rows.length, page.unusable?.count, page.unusable?.before], [1, 1, [1]])
      assert.deepEqual(keysOf(await read(source, page.last, 2)), [job.key.encode({ tenant: 2, name: 'x' })])
    },
  },
  {
    name: 'rows whose key is null are passed over',
    async run(context) {
      const nulls = await context.database.create('nulls', { id: 'text' })
      await nulls.insert([{ id: 'x' }, { id: null }, { id: 'y' }])
      const job = context.job(jobName, context.database.pending({ table: 'nulls', columns: ['id'] }))
      assert.deepEqual(keysOf(await read(context.store.source(job))), ['x', 'y'])
      const page = await read(context.store.source(job), null, 2)
      assert.deepEqual(keysOf(page), ['x', 'y'])
      assert.deepEqual(keysOf(await read(context.store.source(job), page.last, 2)), [])
    },
  },
  {
    name: 'a key that the query returns more than once does not stop the pages',
    async run(context) {
      const doubled = await context.database.create('doubled', { id: 'text' })
      await doubled.insert(['x', 'x', 'x', 'y'].map((id) => ({ id })))
      const query = context.database.pending({ table: 'doubled', columns: ['id'] })
      const source = context.store.source(context.job(jobName, query))
      const first = await read(source, null, 2)
      assert.deepEqual(new Set(keysOf(first)), new Set(['x']))
      assert.deepEqual(keysOf(await read(source, first.last, 2)), ['y'])
    },
  },
  {
    name: 'a page whose query is broken fails and names the cause; the next one works',
    async run(context) {
      const parts = await context.database.create('parts', { id: 'text', n: 'int' }, ['id'])
      await parts.insert([{ id: 'x', n: 0 }])
      const query = context.database.pending({ table: 'parts', columns: ['id'], where: [{ dividesBy: 'n' }] })
      const source = context.store.source(context.job(jobName, query))
      await assert.rejects(read(source), (error) => context.store.classify(error) === 'bad_row')
      await parts.update({ n: 1 })
      assert.deepEqual(keysOf(await read(source)), ['x'])
    },
  },
  {
    name: 'candidates are the keys behind a place in their order, also of rows for which the query fails',
    async run(context) {
      const parts = await context.database.create('parts', { id: 'text', n: 'int' }, ['id'])
      await parts.insert(['c', 'a', 'b', 'd'].map((id) => ({ id, n: id === 'b' ? 0 : 1 })))
      const query = context.database.pending({ table: 'parts', columns: ['id'], where: [{ dividesBy: 'n' }] })
      const source = context.store.source(context.job(jobName, query))
      const found = await source.candidates?.(null, 3, 5_000)
      // A store that cannot tell them says so: a page with such a row fails.
      if (!found) return
      assert.deepEqual(found, ['a', 'b', 'c'])
      assert.deepEqual(await source.candidates?.('b', 3, 5_000), ['c', 'd'])
      assert.deepEqual(await source.candidates?.('d', 3, 5_000), [])
    },
  },
  {
    name: 'a page that takes longer than it may is cancelled by the server',
    async run(context) {
      await things(context, ['x'])
      const query = context.database.pending({ table: 'things', columns: ['id'], where: [{ takesMs: 20_000 }] })
      const source = context.store.source(context.job(jobName, query))
      const since = context.clock.now()
      await assert.rejects(source.page(null, 10, 0, 200), (error) => context.store.classify(error) === 'timeout')
      assert.ok(context.clock.now() - since < 10_000)
      assert.equal((await context.store.ledger.standing(jobName, [])).length, 0, 'the store still answers')
    },
  },
]
