// What a person is told of one key, of what is in quarantine, and of rows that a page leaves out.
import assert from 'node:assert/strict'
import type { Condition } from '../store-database.ts'
import type { Case } from '../suite.ts'
import { fail, jobName, leaseMs, live, type StoreContext, take, worker } from './context.ts'

const about = ({ store }: StoreContext, key: string, job = jobName) => store.status.key(job, key, leaseMs)

export const explainerCases: readonly Case<StoreContext>[] = [
  {
    name: 'of a key that nobody knows the facts are those of its job',
    async run(context) {
      const { ledger, intent, pause, sweep, workers, otherSuspect, noProgress } = await about(context, 'x')
      assert.deepEqual({ ledger, intent, pause, sweep }, { ledger: null, intent: null, pause: null, sweep: null })
      assert.deepEqual([workers, otherSuspect, noProgress], [{ live: 0, able: 0 }, false, 0])
      await worker(context, 'w1')
      await context.store.sweeps.declare([{ job: jobName, everyMs: 60_000 }])
      await context.store.pauses.pause(jobName, 'why', 'ann', null)
      const known = await about(context, 'x')
      assert.deepEqual([known.workers, known.pause?.author, known.sweep?.errors], [{ live: 1, able: 1 }, 'ann', 0])
      assert.deepEqual((await about(context, 'x', 'other')).workers, { live: 1, able: 0 })
    },
  },
  {
    name: 'a claim is told with its holder, who beats until the lease is over',
    async run(context) {
      await worker(context, 'w1')
      await worker(context, 'w2')
      await take(context, 'w1', ['x'])
      const { ledger } = await about(context, 'x')
      assert.deepEqual([ledger?.state, ledger?.claim?.beating, ledger?.claim?.worker?.host], ['running', true, 'host'])
      assert.deepEqual([(await about(context, 'y')).running, (await about(context, 'y', 'other')).running], [1, 0])
      await live(context, ['w2'], leaseMs + 1)
      const silent = await about(context, 'x')
      const later = silent.ledger?.claim
      assert.deepEqual([later?.beating, later?.worker?.pid, silent.running], [false, 1, 0])
      await context.database.own('workers').remove({ id: 'w1' })
      assert.deepEqual((await about(context, 'x')).ledger?.claim, { worker: null, beating: false, alone: false })
    },
  },
  {
    name: 'failures, back-off and suspicion of a key are told, and whether another suspect runs',
    async run(context) {
      await worker(context, 'w1')
      await fail(context, 'w1', 'x', { failures: 3, retryMs: 60_000, error: 'no' })
      const { ledger, at } = await about(context, 'x')
      assert.deepEqual([ledger?.failures, ledger?.error, ledger?.suspect, ledger?.claim], [3, 'no', false, null])
      assert.equal(ledger?.retryAt && ledger.retryAt.getTime() - at.getTime(), 60_000)
      await context.database.own('ledger').insert([
        { job: 'a', key: 'y', crashes: 2, state: 'retrying', holder: null, take: null },
        { job: 'a', key: 'z', crashes: 2, state: 'running', holder: 'w1', take: 9 },
      ])
      const waits = await about(context, 'y')
      assert.deepEqual([waits.ledger?.suspect, waits.otherSuspect], [true, true])
      assert.equal((await about(context, 'z')).otherSuspect, false)
    },
  },
  {
    name: 'quarantine is counted by job, filter and error, and listed by the same filter',
    async run(context) {
      await worker(context, 'w1')
      const put = async (key: string, error: string, version: string | null = null) =>
        fail(context, 'w1', key, { state: 'quarantined', error, version })
      await put('x', 'Timeout after 5 ms')
      await context.pass(60_000)
      await worker(context, 'w1')
      await put('y', 'timeout after 60 ms\n    at f', '2')
      await put('z', 'gone')
      const all = { error: null, sinceMs: null, beforeMs: null, version: null }
      const keys = async (where: object) =>
        (await context.store.quarantine.list(null, null, 10, { ...all, ...where })).map(({ key }) => key)
      assert.deepEqual(await keys({ error: 'TIMEOUT' }), ['x', 'y'])
      assert.deepEqual(await keys({ sinceMs: -30_000 }), ['y', 'z'])
      assert.deepEqual(await keys({ beforeMs: -30_000 }), ['x'])
      assert.deepEqual(await keys({ version: '2' }), ['y'])
      assert.deepEqual(await context.store.quarantine.count(null, { ...all, error: 'timeout' }), [
        { job: 'a', count: 2 },
      ])
      const groups = (await context.store.quarantine.errors('a', all, 10)).map(({ error, count }) => [error, count])
      assert.deepEqual(groups, [
        ['Timeout after <n> ms', 1],
        ['gone', 1],
        ['timeout after <n> ms', 1],
      ])
    },
  },
  {
    name: 'a sweep that is made due ramped knows since when',
    async run(context) {
      await worker(context, 'w1')
      await context.store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
      await context.store.sweeps.makeDue(['a'], { anew: true, ramped: true })
      await context.pass(250)
      const { turns } = await context.store.sweeps.turn('w1', ['a'], 1)
      assert.equal(turns[0]?.rampedMs, 250)
    },
  },
  {
    name: 'rows that a page leaves out are counted by why, where the store can tell',
    async run(context) {
      const rows = await context.database.create('held_rows', { id: 'text', run_at: 'time' }, ['id'])
      await rows.insert([
        { id: 'later', run_at: { afterMs: 3_600_000 } },
        ...['free', 'live', 'aside', 'waits', 'soon'].map((id) => ({ id, run_at: null })),
      ])
      await worker(context, 'w1')
      await take(context, 'w1', ['live'])
      await fail(context, 'w1', 'aside', { state: 'quarantined' })
      await fail(context, 'w1', 'waits', { retryMs: 3_600_000 })
      await fail(context, 'w1', 'soon', { retryMs: 1_000 })
      const job = context.job('a', context.database.pending({ table: 'held_rows', columns: ['id', 'run_at'] }))
      const source = context.store.source(job)
      const page = await source.page(null, 10, 60_000, 10_000)
      assert.deepEqual([page.scanned, page.rows.length], [6, 2])
      const { diagnosis } = context.store
      if (!diagnosis) return
      const counts = { running: 1, quarantined: 1, backedOff: 1, later: 1 }
      assert.deepEqual(await diagnosis.held(job, null, 10, 60_000, 10_000), counts)
    },
  },
  {
    name: 'a key that is not pending is told with the conditions that its row fails, where the store can tell',
    async run(context) {
      const { database } = context
      const rows = await database.create('unmet_rows', { id: 'int', state: 'text', n: 'int' }, ['id'])
      await rows.insert([
        { id: 1, state: 'done', n: 3 },
        { id: 2, state: 'new', n: null },
      ])
      const [isNew, aboveOne] = [
        { column: 'state', is: 'new' },
        { column: 'n', above: 1 },
      ] as const
      const query = database.pending({ table: 'unmet_rows', columns: ['id'], where: [isNew, aboveOne] })
      const job = context.job('a', query, 'int')
      const { diagnosis } = context.store
      if (!diagnosis) return
      const state = { condition: database.shown(isNew), found: { state: 'done' } }
      assert.deepEqual(await diagnosis.unmet(job, '1'), {
        kind: 'conditions',
        table: 'unmet_rows',
        conditions: [state],
      })
      const small = { condition: database.shown(aboveOne), found: { n: null } }
      assert.deepEqual(await diagnosis.unmet(job, '2'), {
        kind: 'conditions',
        table: 'unmet_rows',
        conditions: [small],
      })
      assert.deepEqual(await diagnosis.unmet(job, '3'), { kind: 'no_row', table: 'unmet_rows' })
    },
  },
  {
    name: 'a condition that does not look at the row is named when it fails, where the store can tell',
    async run(context) {
      const { database } = context
      const rows = await database.create('unmet_rows', { id: 'int', state: 'text', n: 'int' }, ['id'])
      await rows.insert([
        { id: 1, state: 'new', n: 3 },
        { id: 2, state: 'done', n: 3 },
      ])
      const switches = await database.create('unmet_switches', { id: 'int', is_on: 'boolean' }, ['id'])
      await switches.insert([{ id: 1, is_on: false }])
      const isNew: Condition = { column: 'state', is: 'new' }
      const isOn: Condition = { column: 'is_on', is: true }
      const jobOf = (where: readonly Condition[]) =>
        context.job('a', database.pending({ table: 'unmet_rows', columns: ['id'], where: [isNew, ...where] }), 'int')
      const off: Condition = { any: 'unmet_switches', where: isOn }
      const { diagnosis } = context.store
      if (!diagnosis) return
      const told = async (where: Condition | readonly Condition[], key = '1') =>
        diagnosis.unmet(jobOf([where].flat()), key)
      const fails = (condition: Condition) => ({ condition: database.shown(condition), found: {}, everyRow: true })
      const exists = fails(off)
      const state = { condition: database.shown(isNew), found: { state: 'done' } }
      const conditions = (...list: object[]) => ({ kind: 'conditions', table: 'unmet_rows', conditions: list })
      assert.deepEqual(await told(off), conditions(exists))
      assert.deepEqual(await told(off, '2'), conditions(state, exists))
      assert.deepEqual(await told(off, '3'), { kind: 'no_row', table: 'unmet_rows' })
      const on: Condition = { any: 'unmet_switches', where: { not: isOn } }
      assert.deepEqual(await told({ not: on }), conditions(fails({ not: on })))
      assert.deepEqual(await told(on, '2'), conditions(state))
      assert.deepEqual(await told([on, off]), conditions(exists))
      const conditionOf = async (where: Condition) => {
        const found = await told(where)
        return found?.kind === 'conditions' ? found.conditions[0]?.condition : found?.kind
      }
      const many: Condition = { rowsOf: 'unmet_switches', above: 5 }
      assert.equal(await conditionOf(many), database.shown(many))
      const future: Condition = { presentAfter: '2999-01-01' }
      const [before = ''] = database.shown(future).split('2999')
      const printed = (await conditionOf(future)) ?? ''
      assert.ok(printed.startsWith(before) && printed.includes('2999'), printed)
      assert.deepEqual(await told({ column: 'state', is: 'x' }), {
        kind: 'untold',
        why: 'its conditions contradict each other, or the table’s constraints',
      })
    },
  },
]
