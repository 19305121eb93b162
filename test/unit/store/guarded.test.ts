// The wrapper around every store: what is asked of it ends, also where an answer is mostly there at once (S16).
import { expect, test } from 'vitest'
import { type Job, readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/pending.ts'
import { guardedStore } from '../../../src/store/guarded.ts'
import type { CheckQuery, Source } from '../../../src/store/source.ts'
import type { Store } from '../../../src/store/store.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const { job } = readJob('a', { pending: sql`select id from t` })
const query: CheckQuery = { text: 'select 1', values: [], read: () => ({ paused: false, pending: new Map() }) }

function sourceOf(source: Partial<Source>): { clock: VirtualClock; guarded: Source } {
  const clock = new VirtualClock()
  // A store of which only the source is asked for anything.
  const store = new Proxy(
    {},
    { get: (_, name) => (name === 'source' ? (_: Job) => source : {}), ownKeys: () => [] },
  ) as Store
  return { clock, guarded: guardedStore(store, clock, { float: () => 0.5, hex: () => '' }).source(job) }
}

test('the statement of a check that is there is handed out as it is, without a wait', () => {
  expect(sourceOf({ checkQuery: () => query }).guarded.checkQuery?.(['1'])).toBe(query)
})

test('one that has to be asked for ends, answered or not', async () => {
  expect(await sourceOf({ checkQuery: async () => query }).guarded.checkQuery?.(['1'])).toBe(query)
  const { clock, guarded } = sourceOf({ checkQuery: () => new Promise(() => {}) })
  const asked = expect(guarded.checkQuery?.(['1'])).rejects.toThrow('source of "a".checkQuery did not answer within')
  await clock.pass(26_000)
  await asked
})

test('a source that has none has none behind the wrapper either', () => {
  expect(sourceOf({}).guarded.checkQuery).toBeUndefined()
})
