// The wrapper around every store: what is asked of it ends, also where an answer is mostly there at once (S16).
import { describe, expect, test } from 'vitest'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { type Job, readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'
import { guardedStore } from '../../../src/store/resilient-store.ts'
import type { Source } from '../../../src/store/source.ts'
import type { Store } from '../../../src/store/store.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const { job } = readJob('a', { pending: sql`select id from t` })

function sourceOf(source: Partial<Source>): { clock: VirtualClock; guarded: Source } {
  const clock = new VirtualClock()
  // A store of which only the source is asked for anything.
  const store = new Proxy(
    {},
    {
      get: (_, name) => (name === 'source' ? (_: Job) => source : name === 'classify' ? classify : {}),
      ownKeys: () => [],
    },
  ) as Store
  return { clock, guarded: guardedStore(store, clock, { float: () => 0.5, hex: () => '' }).source(job) }
}

test('a statement that is refused for what a row of regrow holds is told; one with the query of the user is not', async () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error('no'), { code })
  }
  const told = async (code: string, ask: (store: Store) => Promise<unknown>) => {
    let refused = 0
    const ports = { sweeps: { noProgress: failing(code) }, source: () => ({ finishes: null, page: failing(code) }) }
    const store = new Proxy(
      { ...ports, classify },
      { get: (target, name) => Reflect.get(target, name) ?? {} },
    ) as unknown as Store
    const guarded = guardedStore(store, new VirtualClock(), { float: () => 0.5, hex: () => '' }, () => refused++)
    await expect(ask(guarded)).rejects.toThrow('no')
    return refused
  }
  const own = (store: Store) => store.sweeps.noProgress('a', 1)
  // Instants that cannot be subtracted; a term at its end; an infinite number that becomes a whole one; a table that is gone.
  expect([await told('22008', own), await told('22003', own), await told('0A000', own)]).toEqual([1, 1, 1])
  expect(await told('42P01', own)).toBe(0)
  expect(await told('22008', (store) => store.source(job).page(null, 1, 0, 1))).toBe(0)
})

test('calls of a part of a port end, too, and a part that is missing stays missing', async () => {
  const serverPages = {
    page: async () => ({}) as never,
    end: () => new Promise<never>(() => {}),
    lastKey: async () => 'z',
  }
  const { clock, guarded } = sourceOf({ serverPages })
  expect(await guarded.serverPages?.lastKey(1)).toBe('z')
  const asked = expect(guarded.serverPages?.end(null, 1, 1)).rejects.toThrow(
    'source of "a".serverPages.end did not answer within',
  )
  await clock.pass(26_000)
  await asked
  expect(sourceOf({}).guarded.serverPages).toBeUndefined()
})

describe('a check that is cancelled', () => {
  const cancelled = () => Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  const row = (key: string) => [key, { key, version: null, waitMs: 0, input: null }] as const

  /** A source whose statement is cancelled when `stuck` says so of its keys; and what it was asked. */
  function checking(stuck: (keys: readonly string[], call: number) => boolean) {
    const asked: string[] = []
    const { guarded } = sourceOf({
      check: async (keys) => {
        asked.push(keys.join())
        if (stuck(keys, asked.length)) throw cancelled()
        return { paused: false, pending: new Map(keys.map(row)) }
      },
    })
    return { asked, check: (...keys: string[]) => guarded.check(keys) }
  }
  const keys = Array.from({ length: 100 }, (_, i) => String(i))

  test('is no fault of a key that was asked about alone', async () => {
    const { check, asked } = checking(() => true)
    await expect(check('a')).rejects.toMatchObject({ code: 'check_cancelled' })
    expect(asked).toEqual(['a'])
  })

  test('is no fault of any key when none passes, and is not asked for a hundred times', async () => {
    const { check, asked } = checking(() => true)
    await expect(check(...keys)).rejects.toMatchObject({ code: 'check_cancelled' })
    expect(asked.length).toBeLessThan(6)
  })

  test('is the fault of a key that is cancelled again while another one passes', async () => {
    const { check } = checking((part) => part.includes('42'))
    const { pending, broken } = await check(...keys)
    expect([...(broken?.keys() ?? [])]).toEqual(['42'])
    expect(pending.size).toBe(99)
  })

  test('is the fault of several such keys', async () => {
    const { check } = checking((part) => ['0', '42', '99'].some((key) => part.includes(key)))
    const { pending, broken } = await check(...keys)
    expect([...(broken?.keys() ?? [])]).toEqual(['0', '42', '99'])
    expect(pending.size).toBe(97)
  })

  test.each(Array.from({ length: 12 }, (_, i) => i))(
    'is nobody’s fault when the store stands still for %i calls',
    async (calls) => {
      const { check } = checking((_, call) => call <= calls)
      const answer = await check('a', 'b', 'c', 'd').catch((error) => error)
      if (answer instanceof Error) expect(answer).toMatchObject({ code: 'check_cancelled' })
      else expect([answer.pending.size, answer.broken?.size ?? 0]).toEqual([4, 0])
    },
  )

  test('is not taken for a broken query: data errors still name their keys', async () => {
    const { guarded } = sourceOf({
      check: async (part) => {
        if (part.includes('b')) throw Object.assign(new Error('division by zero'), { code: '22012' })
        return { paused: false, pending: new Map(part.map(row)) }
      },
    })
    const { pending, broken } = await guarded.check(['a', 'b', 'c'])
    expect([[...pending.keys()], [...(broken?.keys() ?? [])]]).toEqual([['a', 'c'], ['b']])
  })
})

test('a statement that conflicts is tried again by itself, and never inside a transaction, which has failed as a whole', async () => {
  let asked = 0
  const store = new Proxy(
    {},
    {
      get: (_, name) =>
        name === 'ledger'
          ? {
              settle: async () => {
                if (asked++ === 0) throw Object.assign(new Error('could not serialize access'), { code: '40001' })
                throw Object.assign(new Error('current transaction is aborted'), { code: '25P02' })
              },
            }
          : name === 'transaction'
            ? (fn: (tx: object) => unknown) => fn({})
            : classify,
      ownKeys: () => [],
    },
  ) as Store
  const clock = new VirtualClock()
  const { ledger, transaction } = guardedStore(store, clock, { float: () => 0.5, hex: () => '' })
  await expect(transaction((tx) => ledger.settle('w1', [], tx))).rejects.toMatchObject({ code: '40001' })
  expect(asked).toBe(1)
  asked = 0
  const alone = expect(ledger.settle('w1', [])).rejects.toMatchObject({ code: '25P02' })
  await clock.pass(1_000)
  await alone
  expect(asked).toBe(2)
})
