// Pages that the queue reads by itself, three of them at a time when everything comes back: whatever happens to the rows
// between the end of a page and the page, no row is skipped (L3).
import { expect, test } from 'vitest'
import { pledge } from '../../../src/base/deferred.ts'
import { readJob } from '../../../src/job/job.ts'
import type { ServerPage } from '../../../src/job/server-page.ts'
import { sql } from '../../../src/job/sql.ts'
import type { FillResult } from '../../../src/queue/queue.ts'
import type { Ledger } from '../../../src/store/ledger.ts'
import type { Source } from '../../../src/store/source.ts'
import { type PassPorts, pass } from '../../../src/sweep/pass.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const { job } = readJob('a', { pending: sql`select id from t`, sweep: { every: '1m' } })
const signal = new AbortController().signal
const ramped = { cursor: null, paused: false, rampedMs: 10_000, epoch: 4, brief: 'none' } as const
const keyOf = (n: number) => String(n).padStart(9, '0')

/** What the source above put into a page. */
const placeOf = (page: ServerPage) => (page as unknown as { values: [after: string | null, limit: number] }).values

/** Rows that a queue beside them reads; `between` runs after a page's end was told and before that page is read. */
function world(count: number, between: (rows: Set<string>, page: number) => void = () => {}) {
  const clock = new VirtualClock()
  const rows = new Set(Array.from({ length: count }, (_, n) => keyOf(n * 10)))
  const hinted = new Set<string>()
  const pushes: string[] = []
  const pages: { after: string | null; limit: number }[] = []
  let most = 0
  let away = 0
  const slice = (after: string | null, limit: number) =>
    [...rows]
      .filter((key) => after === null || key > after)
      .sort()
      .slice(0, limit)
  const source = {
    serverPages: {
      page: async (after: string | null, limit: number) => ({ values: [after, limit] }),
      end: async (after: string | null, limit: number) => slice(after, limit)[limit - 1] ?? null,
    },
  } as unknown as Source
  const ports: PassPorts = {
    clock,
    random: { float: () => 0.5, hex: () => '' },
    source,
    ledger: {} as Ledger,
    async fill({ page }): Promise<FillResult | undefined> {
      const [after, limit] = placeOf(page)
      pages.push({ after, limit })
      most = Math.max(most, ++away)
      await clock.gather()
      between(rows, pages.length)
      const found = slice(after, limit)
      const added = found.filter((key) => !hinted.has(key))
      for (const key of added) hinted.add(key)
      away--
      return {
        scanned: found.length,
        last: found.at(-1) ?? null,
        oldestMs: null,
        eligible: found.length,
        rows: [],
        sample: [],
        pushed: { added: added.length, merged: found.length - added.length, dropped: 0 },
      }
    },
    async push(hints) {
      pushes.push(...hints.map(({ key }) => key))
      return { added: hints.length, merged: 0, dropped: 0 }
    },
    advance: async () => true,
  }
  return { clock, ports, rows, hinted, pages, pushes, mostAway: () => most }
}

test('when everything comes back three pages are on their way, and each is read once', async () => {
  const { ports, rows, hinted, pages, mostAway } = world(45_000)
  expect(await pass(ports, job, ramped, signal)).toMatchObject({ seen: 45_000, pushed: 45_000, ended: 'finished' })
  expect(hinted).toEqual(rows)
  expect(pages).toHaveLength(5)
  expect(mostAway()).toBe(3)
})

test('a page that ends before the one it stands behind makes way for another one', async () => {
  const { ports, rows, hinted, pages } = world(45_000)
  const slow = pledge()
  const fill: PassPorts['fill'] = async (request) => {
    const filled = await ports.fill(request)
    if (pages.length === 4) slow.resolve()
    // The first page lasts until a fourth has begun.
    if (placeOf(request.page)[0] === null) await slow.promise
    return filled
  }
  expect(await pass({ ...ports, fill }, job, ramped, signal)).toMatchObject({ pushed: 45_000, ended: 'finished' })
  expect(hinted).toEqual(rows)
})

test('without a ramp one page is on its way', async () => {
  const { ports, rows, hinted, mostAway } = world(45_000)
  await pass(ports, job, { ...ramped, rampedMs: null }, signal)
  expect(hinted).toEqual(rows)
  expect(mostAway()).toBe(1)
})

test('rows that come between the end of a page and the page make it end sooner; what is behind it is not skipped', async () => {
  const { ports, rows, hinted } = world(45_000, (rows, page) => {
    // In the page that is read, and ahead of it.
    for (let n = 0; n < 7; n++) rows.add(keyOf(page * 60_000 + n * 10 + 1))
  })
  await pass(ports, job, ramped, signal)
  const early = [...rows].filter((key) => !hinted.has(key))
  expect(early.filter((key) => key.endsWith('0'))).toEqual([])
})

test('rows that go between the end of a page and the page make it end later; nothing is skipped', async () => {
  const { ports, rows, hinted } = world(45_000, (rows, page) => {
    for (let n = 0; n < 7; n++) rows.delete(keyOf(page * 60_000 + n * 10))
  })
  await pass(ports, job, ramped, signal)
  expect([...rows].filter((key) => !hinted.has(key))).toEqual([])
})

test('a page that was sent ahead is over before the pass is, however that ends', async () => {
  const { ports, mostAway } = world(25_000)
  let under = 0
  const fill: PassPorts['fill'] = async (request) => {
    under++
    const filled = await ports.fill(request)
    under--
    // Another queue by now: the pass ends with the first page, while others are on their way.
    return filled && { ...filled, pushed: { added: 0, merged: 0, dropped: 0, lost: 1 } }
  }
  expect(await pass({ ...ports, fill }, job, ramped, signal)).toMatchObject({ ended: 'lost', cursor: null, passed: 0 })
  expect(mostAway()).toBe(3)
  expect(under).toBe(0)
})

test('a queue that cannot read pages gets keys from then on, from where the last page ended', async () => {
  const { ports, pushes, pages } = world(25_000)
  let told = 0
  const fill: PassPorts['fill'] = async (request) => (++told === 1 ? ports.fill(request) : undefined)
  const source: Source = {
    ...ports.source,
    page: async (after, limit) => ({
      ...{ scanned: 1, last: after, oldestMs: null },
      rows: [{ key: `${after} ${limit}`, version: null, waitMs: 0, renewed: false }],
    }),
  }
  await pass({ ...ports, fill, source }, job, { ...ramped, rampedMs: null }, signal)
  expect(pages).toHaveLength(1)
  expect(pushes).toEqual([`${keyOf(99_990)} 10000`])
})
