// Around the page: a row for which the query fails costs itself alone, in few statements; without one, a page is one call as ever.
import { expect, test } from 'vitest'
import type { Ledger } from '../../../src/store/ledger.ts'
import { pageApart } from '../../../src/store/page-apart.ts'
import type { Source } from '../../../src/store/source.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const badRow = new Error('division by zero')
const row = (key: string) => ({ key, version: null, waitMs: 0, input: null })

/** A table of `count` rows, of which the query leaves out those before `from`, and fails for `bad`. */
function world({ count, bad, from = 0 }: { count: number; bad: (place: number) => boolean; from?: number }) {
  const keys = Array.from({ length: count }, (_, i) => String(i).padStart(6, '0'))
  const calls: string[] = []
  const behind = (after: string | null) => (after === null ? 0 : Number(after) + 1)
  const refuse = (places: readonly number[]) => {
    if (places.some((place) => place >= from && bad(place))) throw badRow
  }
  const source: Source = {
    ...{ versioned: false, dated: false, finishes: null },
    estimate: async () => null,
    async page(after, limit) {
      calls.push('page')
      const found = keys.slice(Math.max(from, behind(after))).slice(0, limit)
      refuse(found.map(Number))
      const rows = found.map((key) => ({ key, version: null, waitMs: 0, renewed: false }))
      return { scanned: found.length, last: found.at(-1) ?? null, oldestMs: null, rows }
    },
    async check(asked) {
      calls.push('check')
      refuse(asked.map(Number))
      return {
        paused: false,
        pending: new Map(asked.filter((key) => Number(key) >= from).map((key) => [key, row(key)])),
      }
    },
    async candidates(after, limit) {
      calls.push('candidates')
      return keys.slice(behind(after)).slice(0, limit)
    },
  }
  const ledger = {
    async standing() {
      calls.push('standing')
      return []
    },
  } as unknown as Ledger
  const classify = (error: unknown) => (error === badRow ? 'bad_row' : 'unknown')
  const apart = (of = source) => pageApart({ job: 'a', clock: new VirtualClock(), classify, ledger }, of)
  return { keys, calls, source, apart }
}

/** All pages to the last one: the keys that may be hinted, the rows that may not, and the most calls that a page took. */
async function swept({ calls, apart }: ReturnType<typeof world>, limit: number) {
  const found = { keys: [] as string[], unusable: 0, shown: '', mostCalls: 0 }
  for (let after: string | null = null; ; ) {
    calls.length = 0
    const page = await apart()(after, limit, 0, 10_000)
    found.keys.push(...page.rows.map(({ key }) => key))
    found.unusable += page.unusable?.count ?? 0
    found.shown ||= page.unusable?.key ?? ''
    found.mostCalls = Math.max(found.mostCalls, calls.length)
    if (page.last === null || (page.more === undefined ? page.scanned < limit : !page.more)) return found
    after = page.last
  }
}

test('a page without a bad row is one call', async () => {
  const { calls, apart } = world({ count: 30, bad: () => false })
  expect(await apart()(null, 20, 0, 10_000)).toMatchObject({ scanned: 20, last: '000019' })
  expect(calls).toEqual(['page'])
})

test('bad rows anywhere are named, and all others are found, each once', async () => {
  const places = [0, 4_999, 5_000, 14_999, 24_999]
  const table = world({ count: 25_000, bad: (place) => places.includes(place) })
  const { keys, unusable, shown, mostCalls } = await swept(table, 10_000)
  expect(keys).toEqual(table.keys.filter((key) => !places.includes(Number(key))))
  expect(unusable).toBe(places.length)
  expect(shown).toContain('the pending query fails for "000000": division by zero')
  expect(mostCalls).toBeLessThanOrEqual(48)
})

test('where every other row is bad, a page takes no more statements, and the pages reach the end', async () => {
  const table = world({ count: 200, bad: (place) => place % 2 === 1 })
  const { keys, unusable, mostCalls } = await swept(table, 100)
  expect([keys.length, unusable]).toEqual([100, 100])
  expect(mostCalls).toBeLessThanOrEqual(48)
})

test('a bad row behind many that the query leaves out is reached', async () => {
  const { keys, unusable } = await swept(world({ count: 5_000, bad: (place) => place === 4_500, from: 4_500 }), 1_000)
  expect([keys.length, unusable]).toEqual([499, 1])
})

test('a query that fails for every row fails as it is, and blames none', async () => {
  const { apart } = world({ count: 100, bad: () => true })
  await expect(apart()(null, 100, 0, 10_000)).rejects.toBe(badRow)
})

test('a source that knows no candidates fails as it is', async () => {
  const { apart, source } = world({ count: 100, bad: (place) => place === 50 })
  const { candidates: _, ...without } = source
  await expect(apart(without)(null, 100, 0, 10_000)).rejects.toBe(badRow)
  await expect(apart({ ...source, candidates: async () => null })(null, 100, 0, 10_000)).rejects.toBe(badRow)
})
