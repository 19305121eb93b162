// Rules of the kill switch: how long it holds, what it does to the sweep of its job, and what stays of it.
// That the check reads it (S8) is a rule of the source, that intents are kept (M39) one of the intents.
import assert from 'node:assert/strict'
import type { Turn, TurnEnd } from '../../store/sweeps.ts'
import type { Case } from '../suite.ts'
import { fail, jobName, type StoreContext, worker } from './context.ts'

const minute = 60_000

/** Workers `w1` and `w2`, and two jobs whose sweeps are not due for an hour. */
async function quiet(context: StoreContext): Promise<void> {
  const { sweeps } = context.store
  await worker(context, 'w1')
  await worker(context, 'w2')
  await sweeps.declare([jobName, 'other'].map((job) => ({ job, everyMs: minute })))
  const { turns } = await sweeps.turn('w1', [jobName, 'other'], 10)
  assert.equal(turns.length, 2)
  for (const turn of turns) await sweeps.end('w1', [{ turn, end: ended() }])
  await context.pass(1_000)
}

const ended = (how: Partial<TurnEnd> = {}): TurnEnd => ({
  cursor: null,
  nextMs: 60 * minute,
  everyMs: 60 * minute,
  error: null,
  seen: 0,
  pushed: 0,
  held: 0,
  tookMs: 1,
  finished: true,
  ...how,
})

const asked = ({ store }: StoreContext, holder: string) => store.sweeps.turn(holder, [jobName, 'other'], 10)

/** The only turn that is to be had. */
async function onlyTurn(context: StoreContext, holder: string): Promise<Turn> {
  const { turns } = await asked(context, holder)
  assert.deepEqual(
    turns.map(({ job }) => job),
    [jobName],
  )
  return turns[0] as Turn
}

export const pausesCases: readonly Case<StoreContext>[] = [
  {
    name: 'a pause holds for its job alone until it is resumed, which says whether there was one',
    async run(context) {
      const { pauses } = context.store
      await quiet(context)
      const paused = await pauses.pause(jobName, 'the provider is down', 'ann', null)
      assert.deepEqual(
        [paused.job, paused.reason, paused.author, paused.since.toISOString(), paused.until, paused.backlog],
        [jobName, 'the provider is down', 'ann', '2030-01-01T00:00:01.000Z', null, null],
      )
      assert.deepEqual(await pauses.list(), [paused])
      await context.pass(365 * 86_400_000)
      assert.deepEqual(await pauses.list(), [paused])
      const { turns, pausesOver } = await asked(context, 'w2')
      assert.deepEqual(
        turns.map(({ job, paused: each }) => [job, each]).sort(),
        [
          [jobName, true],
          ['other', false],
        ],
        'who makes a pass is told',
      )
      assert.deepEqual(pausesOver, [])
      assert.equal(await pauses.end(jobName), false, 'it is not over by itself')
      assert.equal(await pauses.resume(jobName, 'bob'), true)
      assert.deepEqual(await pauses.list(), [])
      assert.equal(await pauses.resume(jobName, 'bob'), false)
    },
  },
  {
    name: 'a pause takes the turn from a pass under way, and makes one due from the beginning, which only counts',
    async run(context) {
      const { pauses, sweeps } = context.store
      await quiet(context)
      await sweeps.makeDue([jobName])
      const turn = await onlyTurn(context, 'w2')
      assert.equal(await sweeps.advance('w2', turn, 'k100'), true)
      await pauses.pause(jobName, 'a reason', 'ann', null)
      assert.equal(await sweeps.advance('w2', turn, 'k200'), false, 'it must not go on pushing hints')
      await sweeps.end('w2', [{ turn, end: ended({ cursor: 'k200' }) }])
      const counting = await onlyTurn(context, 'w2')
      assert.deepEqual([counting.cursor, counting.paused], [null, true])
    },
  },
  {
    name: 'resume takes the turn from a pass that only counts, and makes one due from the beginning at once',
    async run(context) {
      const { pauses, sweeps } = context.store
      await quiet(context)
      await pauses.pause(jobName, 'a reason', 'ann', null)
      const counting = await onlyTurn(context, 'w2')
      assert.equal(await sweeps.advance('w2', counting, 'k100'), true)
      await pauses.resume(jobName, 'ann')
      assert.equal(await sweeps.advance('w2', counting, 'k200'), false)
      const turn = await onlyTurn(context, 'w2')
      assert.deepEqual([turn.cursor, turn.paused], [null, false])
    },
  },
  {
    name: 'a pause for a time holds until then on the store’s clock; who asks for turns is told that it is over',
    async run(context) {
      const { pauses } = context.store
      await quiet(context)
      const { since, until } = await pauses.pause(jobName, 'a reason', 'ann', 2 * minute)
      assert.equal(until?.getTime(), since.getTime() + 2 * minute)
      await context.pass(2 * minute - 1)
      assert.equal((await pauses.list()).length, 1)
      assert.equal(await pauses.end(jobName), false)
      assert.deepEqual((await asked(context, 'w1')).pausesOver, [])
      await context.pass(1)
      assert.deepEqual(await pauses.list(), [])
      assert.deepEqual((await asked(context, 'w2')).pausesOver, [jobName])
      assert.equal(await pauses.end(jobName), true)
      assert.equal(await pauses.end(jobName), false, 'one process ends it')
      assert.deepEqual((await asked(context, 'w2')).pausesOver, [])
    },
  },
  {
    name: 'a pause that has run out gives no turn before it is ended: what comes back is ramped (L9)',
    async run(context) {
      const { pauses, sweeps } = context.store
      await quiet(context)
      await pauses.pause(jobName, 'a reason', 'ann', minute)
      await context.pass(minute)
      await sweeps.makeDue([jobName, 'other'])
      assert.deepEqual(
        (await asked(context, 'w2')).turns.map(({ job }) => job),
        ['other'],
      )
      await pauses.end(jobName)
      // Not w2: it would be given its turn of the other job again.
      const turn = await onlyTurn(context, 'w3')
      assert.deepEqual([turn.cursor, turn.paused], [null, false])
    },
  },
  {
    name: 'the pass after a pause knows since when everything comes back, whether it was resumed or ran out',
    async run(context) {
      const { pauses, sweeps } = context.store
      await quiet(context)
      await sweeps.makeDue([jobName])
      const before = await onlyTurn(context, 'w2')
      assert.equal(before.rampedMs, null)
      await pauses.pause(jobName, 'a reason', 'ann', null)
      await context.pass(minute)
      await pauses.resume(jobName, 'ann')
      await context.pass(700)
      const resumed = await onlyTurn(context, 'w2')
      assert.equal(resumed.rampedMs, 700)
      await pauses.pause(jobName, 'a reason', 'ann', minute)
      await context.pass(2 * minute)
      await pauses.end(jobName)
      await context.pass(300)
      assert.equal((await onlyTurn(context, 'w2')).rampedMs, 300, 'since it was ended, not since it ran out')
    },
  },
  {
    name: 'a second pause replaces reason, author and end, and keeps since; after one that is over it begins anew',
    async run(context) {
      const { pauses } = context.store
      await quiet(context)
      const first = await pauses.pause(jobName, 'one', 'ann', minute)
      await context.pass(30_000)
      const second = await pauses.pause(jobName, 'two', 'bob', null)
      assert.deepEqual(second, { ...first, reason: 'two', author: 'bob', until: null })
      const third = await pauses.pause(jobName, 'three', 'ann', minute)
      assert.deepEqual(third, {
        ...first,
        reason: 'three',
        until: new Date(first.since.getTime() + 30_000 + minute),
      })
      assert.deepEqual(await pauses.list(), [third])
      await context.pass(2 * minute)
      const anew = await pauses.pause(jobName, 'four', 'ann', null)
      assert.equal(anew.since.getTime(), first.since.getTime() + 30_000 + 2 * minute)
    },
  },
  {
    name: 'what was pending when a pause began is counted once, by its first whole pass',
    async run(context) {
      const { pauses, sweeps } = context.store
      const backlog = async () => (await pauses.list()).map((pause) => pause.backlog)
      await quiet(context)
      await pauses.pause(jobName, 'one', 'ann', minute)
      const first = await onlyTurn(context, 'w2')
      await sweeps.end('w2', [{ turn: first, end: ended({ seen: 10_000, cursor: 'k', finished: false, nextMs: 0 }) }])
      assert.deepEqual(await backlog(), [null])
      const rest = await onlyTurn(context, 'w1')
      assert.equal(rest.cursor, 'k')
      await sweeps.end('w1', [{ turn: rest, end: ended({ seen: 234, nextMs: 0 }) }])
      assert.deepEqual(await backlog(), [10_234])
      assert.equal((await pauses.pause(jobName, 'two', 'ann', minute)).backlog, 10_234, 'it is the same pause')
      await sweeps.end('w2', [{ turn: await onlyTurn(context, 'w2'), end: ended({ seen: 99_999 }) }])
      assert.deepEqual(await backlog(), [10_234])
      await context.pass(minute)
      assert.equal((await pauses.pause(jobName, 'three', 'ann', null)).backlog, null, 'a new one')
    },
  },
  {
    name: 'who paused and resumed, why, and what ran out by itself is in the audit',
    async run(context) {
      const { pauses } = context.store
      await pauses.pause(jobName, 'one', 'ann', null)
      await context.pass(1_000)
      await pauses.resume(jobName, 'bob')
      await pauses.resume(jobName, 'bob')
      await pauses.pause(jobName, 'two', 'ann', 1_000)
      await pauses.end(jobName)
      await context.pass(1_000)
      await pauses.end(jobName)
      const audit = (await context.database.own('audit').rows()).toSorted((a, b) => Number(a.id) - Number(b.id))
      const rows = audit.map(({ at, author, action, job, detail }) => {
        const { reason, until } = JSON.parse(detail as string) as { reason: string; until?: unknown }
        const seconds = (Date.parse(at as string) - Date.parse('2030-01-01T00:00:00Z')) / 1_000
        return { at: seconds, author, action, job, reason, ends: (until ?? null) !== null }
      })
      const told = { job: jobName, ends: false }
      assert.deepEqual(rows, [
        { ...told, at: 0, author: 'ann', action: 'pause', reason: 'one' },
        { ...told, at: 1, author: 'bob', action: 'resume', reason: 'one' },
        { ...told, at: 1, author: 'ann', action: 'pause', reason: 'two', ends: true },
        { ...told, at: 2, author: 'regrow', action: 'pause.over', reason: 'two' },
      ])
    },
  },
  {
    name: 'the tables know a job by its sweep, its pause or a worker, and the one asked for by its intents and quarantine',
    async run(context) {
      const { pauses, sweeps, status, intents } = context.store
      assert.deepEqual(await status.names('lost'), [])
      await worker(context, 'w1')
      await sweeps.declare([{ job: 'swept', everyMs: minute }])
      await pauses.pause('paused', 'a reason', 'ann', null)
      const known = [jobName, 'paused', 'swept']
      assert.deepEqual(await status.names('lost'), known)
      await fail(context, 'w1', 'k', { state: 'quarantined' })
      await context.database.own('ledger').update({ job: 'failed' })
      const id = '0191e8a0-7b6c-7def-8123-000000000001'
      await intents.record('meant', [{ id, input: '1', inMs: 0, atMs: null, uniqueKey: null }])
      assert.deepEqual(await status.names('lost'), known)
      assert.deepEqual(await status.names('failed'), [...known, 'failed'].sort())
      assert.deepEqual(await status.names('meant'), [...known, 'meant'].sort())
    },
  },
]
