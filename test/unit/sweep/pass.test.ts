// A pass: pages bounded by rows scanned, a cursor that always moves on, and five ways to end.
import { expect, test } from 'vitest'
import { horizonMs } from '../../../src/job/horizon.ts'
import { readJob } from '../../../src/job/job.ts'
import { sql } from '../../../src/job/sql.ts'
import type { Hint } from '../../../src/queue/hint.ts'
import type { Ledger } from '../../../src/store/ledger.ts'
import type { Page, PageRow, Source } from '../../../src/store/source.ts'
import { type PassPorts, pass } from '../../../src/sweep/pass.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const { job } = readJob('a', { pending: sql`select id from t`, sweep: { every: '1m', jitter: '10s' } })

/** A table of `count` rows, of which those that `eligible` names may be hinted; a page takes `pageMs`. */
function world(table: {
  count: number
  eligible?: (place: number) => boolean
  room?: number
  pageMs?: number
  row?: Partial<PageRow>
}) {
  const { count, eligible = () => true, room = Number.POSITIVE_INFINITY, pageMs = 0, row = {} } = table
  const clock = new VirtualClock()
  const keys = Array.from({ length: count }, (_, i) => String(i).padStart(7, '0'))
  const pages: { after: string | null; limit: number }[] = []
  const pushes: (readonly Hint[])[] = []
  const order: string[] = []
  let left = room
  const source: Source = {
    versioned: false,
    dated: false,
    estimate: async () => null,
    finishes: null,
    check: () => Promise.reject(new Error('a pass checks nothing')),
    async page(after, limit): Promise<Page> {
      pages.push({ after, limit })
      if (pageMs > 0) await clock.sleep(pageMs)
      const from = after === null ? 0 : keys.indexOf(after) + 1
      const scanned = keys.slice(from, from + limit)
      const rows = scanned
        .filter((_, i) => eligible(from + i))
        .map((key) => ({ key, version: null, waitMs: 0, renewed: false, ...row }))
      return { scanned: scanned.length, last: scanned.at(-1) ?? null, oldestMs: null, rows }
    },
  }
  const advanced: (string | null)[] = []
  const ports: PassPorts = {
    clock,
    random: { float: () => 0.5, hex: () => '' },
    source,
    ledger: {
      async clear(_: string, rows: readonly { key: string }[]) {
        order.push('clear')
        return rows.map(({ key }) => key)
      },
    } as unknown as Ledger,
    // A queue that is not beside the rows.
    fill: async () => undefined,
    async push(hints) {
      order.push('push')
      pushes.push(hints)
      const added = Math.min(left, hints.length)
      left -= added
      return { added, merged: 0, dropped: hints.length - added }
    },
    async advance(cursor) {
      advanced.push(cursor)
      return true
    },
  }
  return { clock, ports, pages, pushes, advanced, keys, order }
}
const signal = new AbortController().signal
const from = (cursor: string | null = null) =>
  ({ cursor, paused: false, rampedMs: null, epoch: null, brief: 'none' }) as const

test('a page reads 10,000 rows, pushes go in thousands, and the last page ends the pass', async () => {
  const { ports, pages, pushes, advanced, keys } = world({ count: 23_500 })
  expect(await pass(ports, job, from(null), signal)).toMatchObject({
    seen: 23_500,
    pushed: 23_500,
    held: 0,
    dropped: 0,
    cursor: null,
    ended: 'finished',
  })
  expect(pages).toEqual([
    { after: null, limit: 10_000 },
    { after: keys[9_999], limit: 10_000 },
    { after: keys[19_999], limit: 10_000 },
  ])
  expect(pushes.map((hints) => hints.length)).toEqual([...Array(23).fill(1_000), 500])
  expect(advanced).toEqual([keys[9_999], keys[19_999]])
})

test('pages in which nothing may start do not stop it', async () => {
  const { ports, pages } = world({ count: 30_001, eligible: (place) => place === 30_000 })
  expect(await pass(ports, job, from(null), signal)).toMatchObject({
    seen: 30_001,
    pushed: 1,
    held: 30_000,
    ended: 'finished',
  })
  expect(pages).toHaveLength(4)
})

test('a full queue ends it at the last thousand that was taken', async () => {
  const { ports, keys, pages } = world({ count: 25_000, room: 12_300 })
  expect(await pass(ports, job, from(null), signal)).toMatchObject({
    pushed: 12_300,
    cursor: keys[11_999],
    ended: 'full',
  })
  expect(pages).toHaveLength(2)
})

test('rows that the next turn sees again are not passed: turn by turn each row is counted once', async () => {
  const { ports } = world({ count: 25_000, room: 12_300 })
  const first = await pass(ports, job, from(null), signal)
  expect(first).toMatchObject({ seen: 20_000, passed: 12_000 })
  const second = await pass({ ...ports, push: world({ count: 0 }).ports.push }, job, from(first.cursor), signal)
  expect(second).toMatchObject({ seen: 13_000, passed: 13_000, ended: 'finished' })
  const half = world({ count: 8_000, eligible: (place) => place % 2 === 0, room: 1_000 })
  expect(await pass(half.ports, job, from(null), signal)).toMatchObject({ seen: 8_000, passed: 2_000, ended: 'full' })
})

test('a queue that is full from the start leaves the cursor where it was', async () => {
  const { ports, keys } = world({ count: 5_000, room: 0 })
  expect(await pass(ports, job, from(keys[99]), signal)).toMatchObject({
    pushed: 0,
    cursor: keys[99],
    ended: 'full',
  })
})

test('it goes on behind its cursor', async () => {
  const { ports, keys, pages } = world({ count: 5_000 })
  expect(await pass(ports, job, from(keys[3_999]), signal)).toMatchObject({ seen: 1_000, ended: 'finished' })
  expect(pages[0]?.after).toBe(keys[3_999])
})

test('a brief start reads one push of rows first: the queue may be full, or the workers wait', async () => {
  const { ports, keys, pages } = world({ count: 50_000, room: 0 })
  const start = { ...from(keys[3_999]), brief: 'first' } as const
  expect(await pass(ports, job, start, signal)).toMatchObject({ seen: 1_000, cursor: keys[3_999], ended: 'full' })
  expect(pages).toEqual([{ after: keys[3_999], limit: 1_000 }])
  const roomy = world({ count: 50_000 })
  await pass(roomy.ports, job, start, signal)
  expect(roomy.pages.map(({ limit }) => limit)).toEqual([1_000, 10_000, 10_000, 10_000, 10_000, 10_000])
  const small = world({ count: 2_500 })
  await pass(small.ports, job, { ...from(null), brief: 'all' }, signal)
  expect(small.pages.map(({ limit }) => limit)).toEqual([1_000, 1_000, 1_000])
})

test('after 30 s it ends at its cursor', async () => {
  const { clock, ports, keys } = world({ count: 100_000, pageMs: 8_000 })
  const result = pass(ports, job, from(null), signal)
  await clock.pass(60_000)
  expect(await result).toMatchObject({ seen: 40_000, cursor: keys[39_999], ended: 'budget' })
})

test('a turn that is somebody else’s now ends it', async () => {
  const { ports, keys } = world({ count: 30_000 })
  expect(await pass({ ...ports, advance: async () => false }, job, from(null), signal)).toMatchObject({
    seen: 10_000,
    cursor: keys[9_999],
    ended: 'lost',
  })
})

test('a worker that stops ends it after its page', async () => {
  const { ports, keys } = world({ count: 30_000 })
  const stop = new AbortController()
  stop.abort()
  expect(await pass(ports, job, from(null), stop.signal)).toMatchObject({ cursor: keys[9_999], ended: 'stopped' })
})

test('hints of a sweep are not fresh, wait as long as their row does, and are spread by its jitter', async () => {
  const { ports, pushes } = world({ count: 1, row: { waitMs: 700 } })
  await pass(ports, job, from(null), signal)
  expect(pushes).toEqual([[{ job: 'a', key: '0000000', delayMs: 5_700, fresh: false }]])
})

test('a key with a new version is hinted as fresh, then cleared: a crash in between loses nothing', async () => {
  const { ports, pushes, order } = world({ count: 1, row: { renewed: true, version: '2' } })
  await pass(ports, job, from(null), signal)
  expect(pushes[0]?.[0]).toMatchObject({ key: '0000000', fresh: true })
  expect(order).toEqual(['push', 'clear'])
})

test('an empty table is a finished pass', async () => {
  expect(await pass(world({ count: 0 }).ports, job, from(null), signal)).toMatchObject({
    seen: 0,
    cursor: null,
    ended: 'finished',
  })
})

test('what comes due before the next sweep, late as that may be, is within the horizon', () => {
  expect(horizonMs(job)).toBeGreaterThanOrEqual(60_000 * 1.1 + 1_000)
})

test('a queue that is another one by now ends it: what is left to push is not what was lost', async () => {
  const { ports, keys, pages } = world({ count: 25_000 })
  let epoch = 7
  const push: PassPorts['push'] = async (hints, options) => {
    if (options?.epoch !== epoch) return { added: 0, merged: 0, dropped: 0, lost: hints.length }
    if (hints[0]?.key === keys[2_000]) epoch++
    return { added: hints.length, merged: 0, dropped: 0 }
  }
  expect(await pass({ ...ports, push }, job, { ...from(null), epoch: 7 }, signal)).toMatchObject({
    pushed: 3_000,
    dropped: 0,
    cursor: keys[2_999],
    ended: 'lost',
  })
  expect(pages).toHaveLength(1)
})

test('a pass whose turn was taken stops between two pushes of a page', async () => {
  const { clock, ports, keys } = world({ count: 10_000 })
  const push: PassPorts['push'] = async (hints) => {
    await clock.sleep(60)
    return { added: hints.length, merged: 0, dropped: 0 }
  }
  const advance = async (cursor: string | null) => cursor !== keys[3_999]
  const result = pass({ ...ports, push, advance }, job, from(null), signal)
  await clock.pass(1_000)
  expect(await result).toMatchObject({ pushed: 4_000, ended: 'lost' })
})

test('a turn that pushed nothing because the queue failed has failed; one that pushed some goes on like a full one', async () => {
  const away = new Error('away')
  const failing = (after: number) => {
    const { ports, keys } = world({ count: 25_000 })
    let calls = 0
    const push: PassPorts['push'] = async (hints) => {
      const taken = calls++ < after
      return taken
        ? { added: hints.length, merged: 0, dropped: 0 }
        : { added: 0, merged: 0, dropped: hints.length, error: away }
    }
    return { ports: { ...ports, push }, keys }
  }
  const none = failing(0)
  const failed = { pushed: 0, cursor: null, ended: 'failed', error: away }
  expect(await pass(none.ports, job, from(null), signal)).toMatchObject(failed)
  const some = failing(2)
  const full = await pass(some.ports, job, from(null), signal)
  expect(full).toMatchObject({ pushed: 2_000, cursor: some.keys[1_999], ended: 'full' })
})

test('hints that the queue can never hold do not keep the cursor from moving on', async () => {
  const { ports } = world({ count: 25_000 })
  const push: PassPorts['push'] = async (hints) => ({ added: hints.length - 1, merged: 0, dropped: 1, refused: 1 })
  const result = await pass({ ...ports, push }, job, from(null), signal)
  expect(result).toMatchObject({ pushed: 24_975, dropped: 0, cursor: null, ended: 'finished' })
})

test('rows that cannot be keys are counted once, in however many turns a page is pushed', async () => {
  const { ports, keys } = world({ count: 5_000 })
  // Behind the first row, behind the 1,500th, and behind the last one.
  const unusable = { count: 3, key: 'xxx', before: [1, 1_500, 5_000] }
  let room = 1_000
  const push: PassPorts['push'] = async (hints) => {
    const added = Math.min(room, hints.length)
    room -= added
    return { added, merged: 0, dropped: hints.length - added }
  }
  const page: Source['page'] = async (...args) => ({ ...(await ports.source.page(...args)), unusable })
  const source = { ...ports.source, page }
  const first = await pass({ ...ports, push, source }, job, from(null), signal)
  expect(first).toMatchObject({ seen: 5_000, held: -3, cursor: keys[999], unusable: { count: 1, key: 'xxx' } })
  room = 10_000
  const whole = await pass({ ...ports, push, source }, job, from(null), signal)
  expect(whole).toMatchObject({ ended: 'finished', unusable: { count: 3, key: 'xxx' } })
})
