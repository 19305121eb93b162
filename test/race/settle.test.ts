// Successes are found by their takes where these are close to each other, and by their keys where they are not, whichever order the keys come
// in: what was told is over, with its intent, and nothing else is (S3).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Claim } from '../../src/store/ledger.ts'
import type { Store } from '../../src/store/store.ts'
import { granted, outcomes, Stores } from './stores.ts'

let stores: Stores
let store: Store
beforeAll(async () => {
  stores = await Stores.open('race_settle')
  store = (await stores.many(1))[0] as Store
  await stores.worker('w1')
  await stores.worker('w2')
})
afterAll(() => stores.close())
beforeEach(() => stores.query('truncate regrow.ledger, regrow.intents'))

const idOf = (n: number) => `0191e8a0-7b6c-7def-8123-${String(n).padStart(12, '0')}`

/** The keys of so many takes, in their order. */
const orders: Record<string, (count: number) => number[]> = {
  'keys in the same order': (count) => Array.from({ length: count }, (_, n) => n),
  'keys in another order': (count) => Array.from({ length: count }, (_, n) => count - n),
}

/** Intents that `w1` holds by these takes. */
async function heldBy(takes: readonly number[], keys: readonly number[]): Promise<Claim[]> {
  const list = takes.map((take, n) => ({ job: 'mail', key: idOf(keys[n] as number), take }))
  await store.intents.record(
    'mail',
    list.map(({ key }) => ({ id: key, input: '1', inMs: 0, atMs: null, uniqueKey: null })),
  )
  expect(await granted(store, 'w1', list)).toEqual(list)
  return list
}

const left = async () => ({
  claims: (await stores.query('select take::int as take from regrow.ledger order by take')).map(({ take }) => take),
  intents: (await stores.query('select id::text as id from regrow.intents order by id')).map(({ id }) => id),
})

const distances: [string, number[]][] = [
  ['in a row', [1, 2, 3, 4]],
  ['close to each other', [1, 3, 4, 6]],
  ['far apart', [1, 4_000, 90_000, 1_000_000]],
]

describe.each(
  Object.entries(orders).flatMap(([order, keysOf]) =>
    distances.map(([name, takes]) => [name, order, takes, keysOf] as const),
  ),
)('takes %s, %s', (_name, _order, takes, keysOf) => {
  const held = (list: readonly number[]) => heldBy(list, keysOf(list.length))

  test('those that were told are over, with their intents, and the one between them is not', async () => {
    const [first, second, third, last] = (await held(takes)) as [Claim, Claim, Claim, Claim]
    const told = outcomes([last, first, third], { finish: 'intent' })
    expect(await store.ledger.settle('w1', told)).toEqual(new Set([first.take, third.take, last.take]))
    expect(await left()).toEqual({ claims: [second.take], intents: [second.key] })
  })

  test('all of them at once are over', async () => {
    const list = await held(takes)
    expect(await store.ledger.settle('w1', outcomes(list, { finish: 'intent' }))).toEqual(new Set(takes))
    expect(await left()).toEqual({ claims: [], intents: [] })
  })

  test('one that is lost is told, and stays whose it is; what is another one’s stays too', async () => {
    const list = await held(takes)
    const [first, ...others] = list as [Claim, Claim, Claim, Claim]
    await stores.query(`update regrow.ledger set holder = 'w2' where take = $1`, [first.take])
    expect(await store.ledger.settle('w1', outcomes(list, { finish: 'intent' }))).toEqual(
      new Set(others.map(({ take }) => take)),
    )
    expect(await left()).toEqual({ claims: [first.take], intents: [first.key] })
    expect(await store.ledger.settle('w1', outcomes([first], { finish: 'intent' }))).toEqual(new Set())
  })

  test('a key that was taken anew is not settled by who had it before', async () => {
    const list = await held(takes)
    const anew = 2_000_000
    await stores.query('update regrow.ledger set take = $2 where take = $1', [takes[1], anew])
    const told = await store.ledger.settle('w1', outcomes(list, { finish: 'intent' }))
    expect(told).toEqual(new Set(takes.filter((take) => take !== takes[1])))
    expect(await left()).toEqual({ claims: [anew], intents: [(list[1] as Claim).key] })
  })

  test('work of rows has no intent to end', async () => {
    const list = await held(takes)
    expect(await store.ledger.settle('w1', outcomes(list))).toEqual(new Set(takes))
    expect(await left()).toEqual({ claims: [], intents: list.map(({ key }) => key).sort() })
  })
})
