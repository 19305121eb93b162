// How long the oldest pending row has waited, where rows do not say so: a sample of keys, looked for again.
import { expect, test } from 'vitest'
import type { Ledger } from '../../../src/store/ledger.ts'
import type { PageRow, PendingKey, Source } from '../../../src/store/source.ts'
import { waited } from '../../../src/sweep/oldest-wait.ts'

const row = (key: string, waitMs = 0): PageRow => ({ key, version: null, waitMs, renewed: false })

/** A table with these pending keys, some of them due only later; and a ledger that holds some. */
function world(pending: Record<string, number>, quarantined: readonly string[] = []) {
  const asked: string[][] = []
  const source = {
    async check(keys: readonly string[]) {
      asked.push([...keys])
      const found = keys.filter((key) => key in pending)
      return {
        paused: false,
        pending: new Map(
          found.map((key): [string, PendingKey] => [
            key,
            { key, version: null, waitMs: pending[key] as number, input: null },
          ]),
        ),
      }
    },
  } as unknown as Source
  const ledger = {
    standing: async (_: string, keys: readonly string[]) =>
      keys.filter((key) => quarantined.includes(key)).map((key) => ({ key, quarantined: true })),
  } as unknown as Ledger
  return { asked, ports: { source, ledger } }
}

test('nothing pending, nothing remembered: nothing is asked, and nothing waits', async () => {
  const { asked, ports } = world({})
  expect(await waited(ports, 'a', [], {}, 1_000)).toEqual({ oldestMs: null, sample: {} })
  expect(asked).toEqual([])
})

test('what is seen for the first time waits from now on', async () => {
  const { ports } = world({ x: 0 })
  expect(await waited(ports, 'a', [row('x')], {}, 1_000)).toEqual({ oldestMs: 0, sample: { x: 1_000 } })
})

test('what is still pending keeps its time, what is gone is forgotten', async () => {
  const { ports } = world({ old: 0 })
  const { oldestMs, sample } = await waited(ports, 'a', [row('new')], { old: 1_000, gone: 500 }, 61_000)
  expect(oldestMs).toBe(60_000)
  expect(sample).toEqual({ old: 1_000, new: 61_000 })
})

test('what is due only later, or waits for a person, does not count', async () => {
  const { ports } = world({ later: 5_000, barred: 0, due: 0 }, ['barred'])
  const known = { later: 0, barred: 0, due: 30_000 }
  expect(await waited(ports, 'a', [row('soon', 900)], known, 60_000)).toEqual({
    oldestMs: 30_000,
    sample: { due: 30_000 },
  })
})

test('it remembers 32 keys at most, from all over the page, and the old ones first', async () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => String(i).padStart(5, '0'))
  const { ports } = world({ old: 0 })
  const { sample } = await waited(
    ports,
    'a',
    keys.map((key) => row(key)),
    { old: 1 },
    100,
  )
  expect(Object.keys(sample).length).toBeLessThanOrEqual(32)
  expect(Object.keys(sample).length).toBeGreaterThan(20)
  expect(sample.old).toBe(1)
  expect(Object.keys(sample).filter((key) => key > '05000').length).toBeGreaterThan(8)
})
