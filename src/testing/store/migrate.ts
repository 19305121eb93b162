// Rules of the schema: many may bring it up to date at once, and a store says when it is missing.
import assert from 'node:assert/strict'
import { RegrowError } from '../../index.ts'
import type { Case } from '../suite.ts'
import { jobName, type StoreContext, take, worker } from './context.ts'

export const migrateCases: readonly Case<StoreContext>[] = [
  {
    name: 'ten processes that migrate at once make one schema, and it works',
    async run(context) {
      await context.database.dropStore()
      const stores = await Promise.all(Array.from({ length: 10 }, () => context.open()))
      const done = await Promise.all(stores.map((store) => store.migrate()))
      const [to] = new Set(done.map((each) => each.to))
      assert.ok(to && to > 0)
      assert.ok(done.every((each) => each.to === to))
      assert.equal(done.filter(({ from }) => from === 0).length, 1, 'one of them did the work')
      await take(context, await worker(context, 'w1'), ['x'])
    },
  },
  {
    name: 'a store is known by its identity, which stays; one whose tables were made anew is another',
    async run(context) {
      const identity = await context.store.identity()
      assert.ok(identity.length > 36)
      assert.equal(await (await context.open()).identity(), identity)
      await context.database.dropStore()
      const anew = await context.open()
      await anew.migrate()
      assert.notEqual(await anew.identity(), identity)
    },
  },
  {
    name: 'migrating again changes nothing and keeps what is there',
    async run(context) {
      await take(context, await worker(context, 'w1'), ['x'])
      const { from, to } = await context.store.migrate()
      assert.equal(from, to)
      assert.equal((await context.store.ledger.standing(jobName, ['x'])).length, 1)
    },
  },
  {
    name: 'a store without its tables is refused with what to do, and prepared when that is asked for',
    async run(context) {
      await context.database.dropStore()
      const store = await context.open()
      await assert.rejects(
        store.prepare({ migrate: false }),
        (error) => error instanceof RegrowError && error.code === 'not_migrated' && error.hint !== '',
      )
      await store.prepare({ migrate: true })
      await store.prepare({ migrate: false })
    },
  },
  {
    name: 'a schema that is newer than the code is left as it is, and worked with',
    async run(context) {
      const [meta, schema] = [context.database.own('meta'), { name: 'schema' }]
      const [row] = await meta.rows(schema)
      await meta.update({ value: '9999' }, schema)
      try {
        assert.deepEqual(await context.store.migrate(), { from: 9_999, to: 9_999 })
        await context.store.prepare({ migrate: false })
      } finally {
        await meta.update({ value: String(row?.value) }, schema)
      }
    },
  },
]
