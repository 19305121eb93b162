// Races of the turn: one pass per job at a time over the fleet (S10).
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { Turn } from '../../src/store/sweeps.ts'
import { leaseMs, Stores } from './stores.ts'

const end = { cursor: null, error: null, seen: 0, pushed: 0, held: 0, tookMs: 1 }

let stores: Stores
let eight: Store[]
beforeAll(async () => {
  stores = await Stores.open('race_turn')
  eight = await stores.many(8)
})
afterAll(() => stores.close())
beforeEach(async () => {
  await stores.query('truncate regrow.sweeps, regrow.workers, regrow.ledger')
  for (let i = 0; i < 8; i++) await stores.worker(`w${i}`)
})

test('of eight who ask at once for the turns of five jobs, each turn has one winner', async () => {
  const jobs = ['a', 'b', 'c', 'd', 'e']
  for (let round = 0; round < 25; round++) {
    await stores.query('truncate regrow.sweeps')
    await (eight[0] as Store).sweeps.declare(jobs.map((job) => ({ job, everyMs: 60_000 })))
    const won = await Promise.all(eight.map((store, i) => store.sweeps.turn(`w${i}`, jobs, 5)))
    const turns = won.flatMap((answer) => answer.turns.map(({ job }) => job))
    expect(new Set(turns).size, `round ${round}: ${turns.join(' ')}`).toBe(turns.length)
    expect(turns.length).toBeGreaterThan(0)
  }
})

test('a turn is not won by who looked before it was taken, nor before it was taken and ended', async () => {
  const [one] = eight as [Store]
  await one.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
  let turn: Turn | undefined
  const late = await stores.held(
    (gated) => gated.sweeps.turn('w1', ['a'], 5),
    async () => {
      await stores.worker('new')
      turn = (await one.sweeps.turn('new', ['a'], 5)).turns[0]
      expect(turn).toBeDefined()
    },
  )
  expect(late.turns).toEqual([])
  await one.sweeps.end('new', [{ turn: turn as Turn, end: { ...end, nextMs: 0 } }])
  const later = await stores.held(
    (gated) => gated.sweeps.turn('w1', ['a'], 5),
    async () => {
      const [next] = (await one.sweeps.turn('w2', ['a'], 5)).turns as [Turn]
      await one.sweeps.end('w2', [{ turn: next, end: { ...end, nextMs: 60_000 } }])
    },
  )
  expect(later.turns).toEqual([])
})

test('a sweep that is made due while its pass is ended is either seen by the end, or due after it', async () => {
  const [one, two] = eight as [Store, Store]
  for (let round = 0; round < 40; round++) {
    await stores.query('truncate regrow.sweeps')
    await one.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
    const [turn] = (await one.sweeps.turn('w0', ['a'], 5)).turns as [Turn]
    await Promise.all([
      one.sweeps.end('w0', [{ turn, end: { ...end, cursor: 'k', nextMs: 3_600_000 } }]),
      two.sweeps.makeDue(['a'], { anew: round % 2 === 0 }),
    ])
    expect((await two.sweeps.turn('w1', ['a'], 5)).turns).toMatchObject([{ job: 'a' }])
  }
})

test('of a turn’s advance and the free of its holder, the advance knows whether it still has the turn', async () => {
  const [one, two] = eight as [Store, Store]
  for (let round = 0; round < 25; round++) {
    await stores.query('truncate regrow.sweeps')
    const holder = await stores.worker(`dying${round}`)
    await one.sweeps.declare([{ job: 'a', everyMs: 60_000 }])
    const [turn] = (await one.sweeps.turn(holder, ['a'], 5)).turns as [Turn]
    await stores.dies(holder)
    const [, freed] = await Promise.all([one.sweeps.advance(holder, turn, 'k9'), two.workers.free(leaseMs)])
    expect(freed.workers).toBe(1)
    expect(await one.sweeps.advance(holder, turn, 'k10')).toBe(false)
    expect((await two.sweeps.turn('w1', ['a'], 5)).turns.length).toBe(1)
  }
})
