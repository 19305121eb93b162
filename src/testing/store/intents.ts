// Rules of intents: written once per id and once per unique key, pending until they are finished.
import assert from 'node:assert/strict'
import type { IntentRow } from '../../store/intents.ts'
import type { Claim } from '../../store/ledger.ts'
import type { Source } from '../../store/source.ts'
import type { Case } from '../suite.ts'
import { jobName, outcome, type StoreContext, settle, take, worker } from './context.ts'

const id = (n: number) => `0191e8a0-7b6c-7def-8123-${String(n).padStart(12, '0')}`

const intent = (n: number, how: Partial<IntentRow> = {}): IntentRow => ({
  id: id(n),
  input: `{"n":${n}}`,
  inMs: 0,
  atMs: null,
  uniqueKey: null,
  ...how,
})

/** The source of a job whose work are intents: it has an input and no query. */
function intentsOf(context: StoreContext, name = jobName): Source {
  const job = context.job(name, context.database.pending({ table: 'none', columns: ['id'] }), 'uuid')
  return context.store.source({ ...job, query: null })
}

export const intentsCases: readonly Case<StoreContext>[] = [
  {
    name: 'a recorded intent is pending with its input, and only for its job',
    async run(context) {
      const input = `{"text":"it's \\"quoted\\" \\u0001 Ω👾","list":[1,null,{"a":1.5e300}]}`
      const [answer] = await context.store.intents.record(jobName, [intent(1, { input })])
      assert.deepEqual(answer, { id: id(1), added: true, heldBy: id(1), usedBy: null, paused: false, waitMs: 0 })
      const source = intentsOf(context)
      assert.equal(source.finishes, 'intent')
      const found = (await source.check([id(1), id(2)])).pending
      assert.deepEqual([...found.keys()], [id(1)])
      assert.deepEqual(JSON.parse(found.get(id(1))?.input ?? ''), JSON.parse(input))
      assert.equal((await intentsOf(context, 'b').check([id(1)])).pending.size, 0)
      assert.deepEqual(
        (await source.page(null, 10, 0, 5_000)).rows.map(({ key }) => key),
        [id(1)],
      )
    },
  },
  {
    name: 'the same id twice is one intent, whether in two writes or in one, and the first input stays',
    async run(context) {
      await context.store.intents.record(jobName, [intent(1)])
      const [again, other] = await context.store.intents.record(jobName, [intent(1, { input: '"other"' }), intent(2)])
      assert.deepEqual([again?.added, again?.heldBy, other?.added], [false, id(1), true])
      const twice = await context.store.intents.record(jobName, [intent(3), intent(3)])
      assert.ok(twice.every(({ heldBy }) => heldBy === id(3)))
      const { pending } = await intentsOf(context).check([id(1), id(2), id(3)])
      assert.equal(pending.size, 3)
      assert.deepEqual(JSON.parse(pending.get(id(1))?.input ?? ''), { n: 1 })
    },
  },
  {
    name: 'an id that an intent of another job has is told, and nothing is stored under it; its neighbours are stored',
    async run(context) {
      await context.store.intents.record('b', [intent(1)])
      const answers = await context.store.intents.record(jobName, [intent(2), intent(1), intent(3)])
      assert.deepEqual(
        answers.map(({ id, added, usedBy }) => [id, added, usedBy]),
        [
          [id(2), true, null],
          [id(1), false, 'b'],
          [id(3), true, null],
        ],
      )
      assert.deepEqual([...(await intentsOf(context).check([id(1), id(2), id(3)])).pending.keys()].sort(), [
        id(2),
        id(3),
      ])
      assert.equal((await intentsOf(context, 'b').check([id(1)])).pending.size, 1)
    },
  },
  {
    name: 'ids that are said to be new are recorded with their inputs and times, and are not believed when one is taken',
    async run(context) {
      const fresh = (n: number, how: Partial<IntentRow> = {}) => intent(n, { idIsNew: true, ...how })
      const now = await context.store.status.time()
      const input = `{"text":"it's\\n\\"quoted\\" {,} \\u001e \\\\ Ω👾","list":[1,null,{"a":1.5e300}]}`
      const first = await context.store.intents.record(jobName, [
        fresh(3, { input }),
        fresh(1, { inMs: 60_000 }),
        fresh(2, { atMs: now + 30_000, input: 'null' }),
      ])
      assert.deepEqual(
        first.map(({ id, added, heldBy, usedBy, paused }) => [id, added, heldBy, usedBy, paused]),
        [3, 1, 2].map((n) => [id(n), true, id(n), null, false]),
      )
      const { pending } = await intentsOf(context).check([id(1), id(2), id(3)])
      assert.deepEqual(JSON.parse(pending.get(id(3))?.input ?? ''), JSON.parse(input))
      assert.equal(pending.get(id(2))?.input, 'null')
      const waits = [1, 2, 3].map((n) => pending.get(id(n))?.waitMs ?? 0)
      assert.ok(
        waits.every((ms, i) => Math.abs(ms - ([60_000, 30_000, 0][i] as number)) < 5_000),
        String(waits),
      )
      await context.store.intents.record('b', [fresh(4)])
      const second = await context.store.intents.record(jobName, [fresh(1, { input: '"other"' }), fresh(4), fresh(5)])
      assert.deepEqual(
        second.map(({ added, heldBy, usedBy }) => [added, heldBy, usedBy]),
        [
          [false, id(1), null],
          [false, id(4), 'b'],
          [true, id(5), null],
        ],
      )
      assert.deepEqual(JSON.parse((await intentsOf(context).check([id(1)])).pending.get(id(1))?.input ?? ''), { n: 1 })
    },
  },
  {
    name: 'the same unique key twice is one intent, and who came second is told whose it is',
    async run(context) {
      await context.store.intents.record(jobName, [intent(1, { uniqueKey: 'u' })])
      const [second] = await context.store.intents.record(jobName, [intent(2, { uniqueKey: 'u' })])
      assert.deepEqual([second?.added, second?.heldBy], [false, id(1)])
      const [otherJob] = await context.store.intents.record('b', [intent(3, { uniqueKey: 'u' })])
      assert.equal(otherJob?.added, true)
      const both = await context.store.intents.record(jobName, [
        intent(4, { uniqueKey: 'v' }),
        intent(5, { uniqueKey: 'v' }),
      ])
      const winner = both.find(({ added }) => added)
      assert.equal(both.filter(({ added }) => added).length, 1)
      assert.deepEqual(new Set(both.map(({ heldBy }) => heldBy)), new Set([winner?.id]))
    },
  },
  {
    name: 'a unique key is free again when its intent is finished',
    async run(context) {
      const holder = await worker(context, 'w1')
      await context.store.intents.record(jobName, [intent(1, { uniqueKey: 'u' })])
      const [claim] = await take(context, holder, [id(1)])
      await settle(context, holder, claim as Claim, { finish: 'intent' })
      assert.equal((await context.store.intents.record(jobName, [intent(2, { uniqueKey: 'u' })]))[0]?.added, true)
    },
  },
  {
    name: 'an intent that starts gives its unique key up, and only those with one are marked',
    async run(context) {
      const { intents } = context.store
      const holder = await worker(context, 'w1')
      const unique = { uniqueKey: 'u', untilStart: true }
      await intents.record(jobName, [intent(1, unique), intent(9)])
      const source = intentsOf(context)
      const marked = async (...ns: number[]) => {
        const { pending } = await source.check(ns.map(id))
        return ns.map((n) => pending.get(id(n))?.unique)
      }
      assert.deepEqual(await marked(1, 9), [true, false])
      await take(context, holder, [id(1)])
      assert.equal((await intents.record(jobName, [intent(2, unique)]))[0]?.heldBy, id(1))
      assert.deepEqual(await intents.startUnique('b', [id(1)]), [])
      assert.deepEqual(await intents.startUnique(jobName, [id(1)]), [id(1)])
      assert.equal((await intents.record(jobName, [intent(2, unique)]))[0]?.added, true)
      assert.deepEqual(await intents.startUnique(jobName, []), [])
    },
  },
  {
    name: 'an intent waits while another one with its unique key is claimed, started or not',
    async run(context) {
      const { intents, ledger } = context.store
      const holder = await worker(context, 'w1')
      const unique = { uniqueKey: 'u', untilStart: true }
      await intents.record(jobName, [intent(1, unique)])
      const [first] = await take(context, holder, [id(1)])
      await intents.startUnique(jobName, [id(1)])
      await intents.record(jobName, [intent(2, unique)])
      await take(context, holder, [id(2)])
      assert.deepEqual(await intents.startUnique(jobName, [id(2)]), [])
      assert.equal((await intents.record(jobName, [intent(3, unique)]))[0]?.heldBy, id(2))
      await settle(context, holder, first as Claim, { state: 'retrying', failures: 1, error: 'e' })
      assert.deepEqual(await intents.startUnique(jobName, [id(2)]), [id(2)])
      const { pending } = await intentsOf(context).check([id(1), id(2)])
      assert.deepEqual(
        [...pending.values()].map((row) => row.unique),
        [true, true],
      )
      // The first one's next run waits for this one.
      await take(context, holder, [id(1)])
      assert.deepEqual(await intents.startUnique(jobName, [id(1)]), [])
      // Of several that are asked for in one call the first may start.
      assert.deepEqual(await intents.startUnique(jobName, [id(2), id(1)]), [id(1)])
      assert.equal((await ledger.standing(jobName, [id(1)])).length, 1)
    },
  },
  {
    name: 'an intent that a transaction has merged a row into starts after its end, and one that started is not merged into',
    async run(context) {
      const { store } = context
      const holder = await worker(context, 'w1')
      const unique = { uniqueKey: 'u', untilStart: true }
      await store.intents.record(jobName, [intent(1, unique)])
      await take(context, holder, [id(1)])
      await store.transaction(async (tx) => {
        assert.equal((await store.intents.record(jobName, [intent(2, unique)], tx))[0]?.heldBy, id(1))
      })
      assert.deepEqual(await store.intents.startUnique(jobName, [id(1)]), [id(1)])
      await store.transaction(async (tx) => {
        assert.equal((await store.intents.record(jobName, [intent(2, unique)], tx))[0]?.added, true)
      })
    },
  },
  {
    name: 'an intent in quarantine gives its unique key up when asked, and stays; one that waits or runs keeps it',
    async run(context) {
      const { intents, ledger } = context.store
      const holder = await worker(context, 'w1')
      await intents.record(jobName, [intent(1, { uniqueKey: 'u' })])
      assert.equal(await intents.yieldUnique(jobName, 'u'), false)
      const [claim] = await take(context, holder, [id(1)])
      assert.equal(await intents.yieldUnique(jobName, 'u'), false)
      await settle(context, holder, claim as Claim, { state: 'quarantined', failures: 1, error: 'e' })
      assert.equal((await intents.record(jobName, [intent(2, { uniqueKey: 'u' })]))[0]?.heldBy, id(1))
      assert.equal(await intents.yieldUnique('b', 'u'), false)
      assert.equal(await intents.yieldUnique(jobName, 'v'), false)
      assert.equal(await intents.yieldUnique(jobName, 'u'), true)
      assert.equal((await intents.record(jobName, [intent(2, { uniqueKey: 'u' })]))[0]?.added, true)
      assert.equal((await ledger.standing(jobName, [id(1)]))[0]?.quarantined, true)
      assert.deepEqual([...(await intentsOf(context).check([id(1), id(2)])).pending.keys()].sort(), [id(1), id(2)])
    },
  },
  {
    name: 'intents are finished without a claim, others stay; what is gone already is no error',
    async run(context) {
      await context.store.intents.record(jobName, [intent(1, { uniqueKey: 'u' }), intent(2), intent(3)])
      await context.store.intents.finish([id(2), id(1), id(9)])
      await context.store.intents.finish([id(1)])
      const { pending } = await intentsOf(context).check([id(1), id(2), id(3)])
      assert.deepEqual([...pending.keys()], [id(3)])
      assert.equal((await context.store.intents.record(jobName, [intent(4, { uniqueKey: 'u' })]))[0]?.added, true)
    },
  },
  {
    name: 'an intent may wait: counted from the store’s clock, or until an instant',
    async run(context) {
      const now = await context.store.status.time()
      const atMs = now + 30_000
      const told = await context.store.intents.record(jobName, [intent(1, { inMs: 60_000 }), intent(2, { atMs })])
      const waits = new Map(told.map((answer) => [answer.id, answer.waitMs]))
      assert.ok(Math.abs((waits.get(id(1)) ?? 0) - 60_000) < 5)
      assert.ok(Math.abs((waits.get(id(2)) ?? 0) - 30_000) < 5)
      const source = intentsOf(context)
      await context.pass(30_000)
      const { pending } = await source.check([id(1), id(2)])
      assert.ok(Math.abs((pending.get(id(1))?.waitMs ?? 0) - 30_000) < 5)
      assert.equal(pending.get(id(2))?.waitMs, 0)
      const past = await context.store.intents.record(jobName, [intent(3, { atMs: 0 })])
      assert.equal(past[0]?.waitMs, 0)
    },
  },
  {
    name: 'a paused job still records its intents, and says that they are held',
    async run(context) {
      await context.store.pauses.pause(jobName, 'a reason', 'somebody', null)
      const [answer] = await context.store.intents.record(jobName, [intent(1)])
      assert.deepEqual([answer?.added, answer?.paused], [true, true])
      const [quick] = await context.store.intents.record(jobName, [intent(3, { idIsNew: true })])
      assert.deepEqual([quick?.added, quick?.paused], [true, true])
      assert.equal((await context.store.intents.record('b', [intent(2)]))[0]?.paused, false)
      assert.equal((await intentsOf(context).check([id(1)])).pending.size, 1)
    },
  },
  {
    name: 'an intent that is written in a transaction commits with it, or not at all',
    async run(context) {
      const { store } = context
      await store.transaction((tx) => store.intents.record(jobName, [intent(1)], tx))
      const failing = store.transaction(async (tx) => {
        await store.intents.record(jobName, [intent(2)], tx)
        throw new Error('rolled back')
      })
      await assert.rejects(failing, /rolled back/)
      assert.deepEqual([...(await intentsOf(context).check([id(1), id(2)])).pending.keys()], [id(1)])
    },
  },
  {
    name: 'a settle finishes an intent only where the claim is held and the run succeeded',
    async run(context) {
      const [one, two] = [await worker(context, 'w1'), await worker(context, 'w2')]
      await context.store.intents.record(jobName, [intent(1), intent(2), intent(3)])
      const [first, second, third] = await take(context, one, [id(1), id(2), id(3)])
      assert.ok(first && second && third)
      await context.store.ledger.settle(two, [outcome(first, { finish: 'intent' })])
      await settle(context, one, second, { state: 'retrying', failures: 1, finish: 'intent' })
      await settle(context, one, third, { finish: 'intent' })
      const { pending } = await intentsOf(context).check([id(1), id(2), id(3)])
      assert.deepEqual([...pending.keys()].sort(), [id(1), id(2)])
    },
  },
  {
    name: 'a thousand intents are recorded in one write, and none in an empty one',
    async run(context) {
      assert.deepEqual(await context.store.intents.record(jobName, []), [])
      const many = Array.from({ length: 1_000 }, (_, n) => intent(n))
      assert.equal((await context.store.intents.record(jobName, many)).filter(({ added }) => added).length, 1_000)
      assert.equal((await intentsOf(context).page(null, 2_000, 0, 5_000)).rows.length, 1_000)
    },
  },
]
