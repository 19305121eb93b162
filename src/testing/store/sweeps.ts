// Rules of the turn (S10): one pass per job at a time over the fleet, by the store's clock.
import assert from 'node:assert/strict'
import type { Turn, TurnEnd } from '../../store/sweeps.ts'
import type { Case } from '../suite.ts'
import { leaseMs, live, type StoreContext, worker } from './context.ts'

const ended = (how: Partial<TurnEnd> = {}): TurnEnd => ({
  cursor: null,
  nextMs: 60_000,
  error: null,
  seen: 0,
  pushed: 0,
  held: 0,
  tookMs: 1,
  everyMs: how.nextMs || 60_000,
  ...how,
})

/** Two workers, and job `a` declared. */
async function fleet(context: StoreContext): Promise<void> {
  await worker(context, 'w1')
  await worker(context, 'w2')
  await context.store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
}

async function win({ store }: StoreContext, holder: string): Promise<Turn | undefined> {
  return (await store.sweeps.turn(holder, ['a'], 10)).turns[0]
}

async function mustWin(context: StoreContext, holder: string): Promise<Turn> {
  const turn = await win(context, holder)
  assert.ok(turn, `${holder} did not get the turn`)
  return turn
}

export const sweepsCases: readonly Case<StoreContext>[] = [
  {
    name: 'a declared job is due at once, from the beginning; declaring it again changes nothing',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      assert.deepEqual([turn.job, turn.cursor], ['a', null])
      await context.store.sweeps.declare([
        { job: 'a', everyMs: 60_000 },
        { job: 'b', everyMs: 60_000 },
      ])
      assert.equal(await win(context, 'w2'), undefined)
    },
  },
  {
    name: 'jobs that are declared as due are due at once, where the pass under way would have gone on',
    async run(context) {
      await fleet(context)
      const { sweeps } = context.store
      await sweeps.end('w1', [{ turn: await mustWin(context, 'w1'), end: ended({ cursor: 'k5', nextMs: 60_000 }) }])
      await context.pass(1_000)
      assert.equal(await win(context, 'w2'), undefined)
      await sweeps.declare([{ job: 'a', everyMs: 60_000 }], { holder: 'w1', due: true })
      assert.equal((await mustWin(context, 'w2')).cursor, 'k5')
    },
  },
  {
    name: 'a job with a new declaration is swept at once, from its beginning, and first by who declared it',
    async run(context) {
      const { sweeps } = context.store
      const declare = (holder: string, fingerprint: string) =>
        sweeps.declare([{ job: 'a', everyMs: 60_000, fingerprint }], { holder })
      await worker(context, 'w1')
      await worker(context, 'w2')
      await declare('w1', 'one')
      await sweeps.end('w1', [{ turn: await mustWin(context, 'w1'), end: ended({ cursor: 'k5', nextMs: 60_000 }) }])
      await context.pass(1_000)
      await declare('w2', 'one')
      assert.equal(await win(context, 'w2'), undefined, 'a declaration that is known changes nothing')
      await declare('w2', 'two')
      assert.equal(await win(context, 'w1'), undefined, 'it would sweep with the old query')
      const turn = await mustWin(context, 'w2')
      assert.equal(turn.cursor, null)
      await declare('w1', 'three')
      assert.equal(await sweeps.advance('w2', turn, 'k6'), false, 'a pass of the old declaration is over')
      await context.pass(31_000)
      await mustWin(context, 'w2')
    },
  },
  {
    name: 'of many who ask for a turn at once, one gets it',
    async run(context) {
      await context.store.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
      const holders = Array.from({ length: 8 }, (_, i) => `w${i}`)
      for (const holder of holders) await worker(context, holder)
      const stores = await Promise.all(holders.map(() => context.open()))
      const won = await Promise.all(stores.map((store, i) => store.sweeps.turn(`w${i}`, ['a'], 10)))
      assert.equal(won.flatMap(({ turns }) => turns).length, 1)
    },
  },
  {
    name: 'a turn is due again after the time that its end tells, for others than who made it',
    async run(context) {
      await fleet(context)
      await context.store.sweeps.end('w1', [{ turn: await mustWin(context, 'w1'), end: ended({ nextMs: 60_000 }) }])
      const { turns, nextMs } = await context.store.sweeps.turn('w2', ['a'], 10)
      assert.equal(turns.length, 0)
      assert.ok(Math.abs(nextMs - 60_000) < 5, `nextMs is ${nextMs}`)
      await context.pass(60_000)
      assert.equal(await win(context, 'w1'), undefined, 'who made the last pass stands back')
      await mustWin(context, 'w2')
    },
  },
  {
    name: 'who stands back gets the turn after a moment when nobody else wants it',
    async run(context) {
      await fleet(context)
      await context.store.sweeps.end('w1', [{ turn: await mustWin(context, 'w1'), end: ended({ nextMs: 60_000 }) }])
      await context.pass(60_000)
      const { nextMs } = await context.store.sweeps.turn('w1', ['a'], 10)
      assert.ok(nextMs > 0 && nextMs <= 5_000, `nextMs is ${nextMs}: it is told how long`)
      await context.pass(nextMs)
      await mustWin(context, 'w1')
    },
  },
  {
    name: 'while somebody makes a pass, others are told to ask again later, not at once',
    async run(context) {
      await fleet(context)
      await context.pass(5_000)
      await mustWin(context, 'w1')
      const { turns, nextMs } = await context.store.sweeps.turn('w2', ['a'], 10)
      assert.equal(turns.length, 0)
      assert.ok(nextMs >= 1_000, `nextMs is ${nextMs}`)
    },
  },
  {
    name: 'turns of several jobs are won together, but no more than asked for, longest due first',
    async run(context) {
      await worker(context, 'w1')
      await context.store.sweeps.declare([{ job: 'b', everyMs: 60_000 }])
      await context.pass(1_000)
      await context.store.sweeps.declare([
        { job: 'a', everyMs: 60_000 },
        { job: 'b', everyMs: 60_000 },
        { job: 'c', everyMs: 60_000 },
      ])
      const { turns } = await context.store.sweeps.turn('w1', ['a', 'b', 'c'], 1)
      assert.deepEqual(
        turns.map(({ job }) => job),
        ['b'],
      )
      const more = await context.store.sweeps.turn('w1', ['a', 'c', 'undeclared'], 10)
      assert.deepEqual(more.turns.map(({ job }) => job).sort(), ['a', 'c'])
    },
  },
  {
    name: 'an unfinished pass goes on at its stored cursor, whoever makes it',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      assert.equal(await context.store.sweeps.advance('w1', turn, 'k100'), true)
      await context.store.sweeps.end('w1', [{ turn, end: ended({ cursor: 'k150', nextMs: 0 }) }])
      assert.equal((await mustWin(context, 'w2')).cursor, 'k150')
    },
  },
  {
    name: 'a turn that gives no sign for long is won by another, at the cursor it had, and the first has lost it',
    async run(context) {
      await fleet(context)
      const first = await mustWin(context, 'w1')
      await context.store.sweeps.advance('w1', first, 'k100')
      await context.pass(600_000)
      const second = await mustWin(context, 'w2')
      assert.equal(second.cursor, 'k100')
      assert.ok(second.term > first.term)
      assert.equal(await context.store.sweeps.advance('w1', first, 'k999'), false)
      await context.store.sweeps.end('w1', [{ turn: first, end: ended({ cursor: 'k999', nextMs: 0 }) }])
      assert.equal(await context.store.sweeps.advance('w2', second, 'k200'), true)
    },
  },
  {
    name: 'each advance keeps the turn: a long pass is not taken away',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      for (let page = 0; page < 10; page++) {
        await context.pass(20_000)
        assert.equal(await context.store.sweeps.advance('w1', turn, `k${page}`), true)
        assert.equal(await win(context, 'w2'), undefined)
      }
    },
  },
  {
    name: 'only who has the turn, in this term, advances or ends it',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      assert.equal(await context.store.sweeps.advance('w2', turn, 'x'), false)
      assert.equal(await context.store.sweeps.advance('w1', { ...turn, term: turn.term - 1 }, 'x'), false)
      await context.store.sweeps.end('w2', [{ turn, end: ended({ nextMs: 0 }) }])
      await context.store.sweeps.end('w1', [{ turn: { ...turn, term: turn.term + 1 }, end: ended({ nextMs: 0 }) }])
      assert.equal(await win(context, 'w2'), undefined)
    },
  },
  {
    name: 'a sweep that is made due goes on now at its cursor; anew, it begins at the beginning',
    async run(context) {
      await fleet(context)
      await context.store.sweeps.end('w1', [
        { turn: await mustWin(context, 'w1'), end: ended({ cursor: 'k100', nextMs: 3_600_000 }) },
      ])
      assert.equal(await win(context, 'w2'), undefined)
      await context.store.sweeps.makeDue(['a'])
      const turn = await mustWin(context, 'w2')
      assert.equal(turn.cursor, 'k100')
      await context.store.sweeps.end('w2', [{ turn, end: ended({ cursor: 'k200', nextMs: 3_600_000 }) }])
      await context.store.sweeps.makeDue(['a'], { anew: true })
      assert.equal((await mustWin(context, 'w1')).cursor, null)
    },
  },
  {
    name: 'a sweep that is made due while a pass runs stays due after it',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      await context.pass(1_000)
      await context.store.sweeps.makeDue(['a'])
      await context.pass(1_000)
      assert.equal(await context.store.sweeps.advance('w1', turn, 'k100'), true, 'the pass goes on')
      await context.store.sweeps.end('w1', [{ turn, end: ended({ cursor: 'k200', nextMs: 3_600_000 }) }])
      assert.equal((await mustWin(context, 'w2')).cursor, 'k200')
    },
  },
  {
    name: 'made due anew while a pass runs, the turn is taken from it: its cursor is of no use any more (M42)',
    async run(context) {
      await fleet(context)
      const turn = await mustWin(context, 'w1')
      assert.equal(await context.store.sweeps.advance('w1', turn, 'k100'), true)
      await context.pass(1_000)
      await context.store.sweeps.makeDue(['a'], { anew: true })
      assert.equal(await context.store.sweeps.advance('w1', turn, 'k200'), false)
      await context.store.sweeps.end('w1', [{ turn, end: ended({ cursor: 'k200', nextMs: 3_600_000 }) }])
      assert.equal((await mustWin(context, 'w2')).cursor, null)
    },
  },
  {
    name: 'a fleet that makes a sweep due anew all at once begins once',
    async run(context) {
      await fleet(context)
      await context.store.sweeps.makeDue(['a'], { anew: true })
      const turn = await mustWin(context, 'w1')
      await context.pass(500)
      await context.store.sweeps.makeDue(['a'], { anew: true })
      assert.equal(await context.store.sweeps.advance('w1', turn, 'k100'), true)
    },
  },
  {
    name: 'made due anew, the turn that a declaration keeps for its worker is free, though it never began',
    async run(context) {
      await fleet(context)
      await context.store.sweeps.declare([{ job: 'a', everyMs: 60_000, fingerprint: 'new' }], { holder: 'w1' })
      assert.equal(await win(context, 'w2'), undefined)
      await context.store.sweeps.makeDue(['a'], { anew: true })
      await mustWin(context, 'w2')
    },
  },
  {
    name: 'the turn of a worker that was freed is won at once',
    async run(context) {
      await fleet(context)
      await live(context, ['w1', 'w2'], 2 * leaseMs)
      await live(context, ['w2'], 1.5 * leaseMs)
      await mustWin(context, 'w1')
      assert.equal(await win(context, 'w2'), undefined)
      assert.equal((await context.store.workers.free(leaseMs)).workers, 1)
      await mustWin(context, 'w2')
    },
  },
]
