// Single inputs travel together: how callers are gathered into statements, and what each of them is told.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { pledge } from '../../../src/base/deferred.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { enqueuingTogether } from '../../../src/enqueue/coalesce.ts'
import type { Hint } from '../../../src/queue/hint.ts'
import type { IntentAnswer, IntentRow } from '../../../src/store/intents.ts'

const row = (n: number | string, how: Partial<IntentRow> = {}): IntentRow => ({
  id: `id-${n}`,
  input: `${n}`,
  inMs: 0,
  atMs: null,
  uniqueKey: null,
  idIsNew: true,
  ...how,
})
const plain = ({ id, inMs }: IntentRow): IntentAnswer => ({
  ...{ id, added: true, heldBy: id, usedBy: null, paused: false, waitMs: inMs },
})
const one = { added: 0, merged: 0, dropped: 0, held: 0 }

/** A store that answers when it is let, and a queue that takes what `room` says. */
function scene({ answer = plain, refuse = (_: readonly IntentRow[]) => {}, room = Number.POSITIVE_INFINITY } = {}) {
  const sent: { job: string; rows: readonly IntentRow[]; let: () => void }[] = []
  const pushes: (readonly Hint[])[] = []
  const queued = new Set<string>()
  let open = true
  const together = enqueuingTogether({
    clock: systemClock,
    intents: {
      async record(job, rows) {
        const { promise, resolve } = pledge()
        sent.push({ job, rows, let: resolve })
        if (!open) await promise
        refuse(rows)
        return rows.map(answer)
      },
      openWriters: async () => [],
    },
    classify,
    async push(hints) {
      pushes.push(hints)
      await systemClock.gather()
      const count = { added: 0, merged: 0, dropped: 0 }
      for (const { key } of hints) {
        if (queued.has(key)) count.merged++
        else if (queued.size >= room) count.dropped++
        else {
          queued.add(key)
          count.added++
        }
      }
      return count
    },
  })
  const sizes = () => sent.map(({ rows }) => rows.length)
  const shut = () => {
    open = false
  }
  return { together, sent, sizes, pushes, queued, shut }
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
const allOf = (calls: readonly Promise<unknown>[]) => Promise.allSettled(calls)

test('who comes alone is sent at once, and told its own key', async () => {
  const { together, sizes, pushes } = scene()
  expect(await together('a', row(1, { inMs: 50 }), 7)).toEqual({ ...one, added: 1, keys: ['id-1'] })
  expect(sizes()).toEqual([1])
  expect(pushes).toEqual([[{ job: 'a', key: 'id-1', delayMs: 57, fresh: true }]])
})

test('a hundred that come at once are one statement and one push', async () => {
  const { together, sizes, pushes } = scene()
  const reports = await Promise.all(numbers(100).map((n) => together('a', row(n), 0)))
  expect(reports).toEqual(numbers(100).map((n) => ({ ...one, added: 1, keys: [`id-${n}`] })))
  expect(sizes()).toEqual([100])
  expect(pushes.map(({ length }) => length)).toEqual([100])
})

test('more than that are two statements, of half of them each', async () => {
  const { together, sizes, pushes } = scene()
  await Promise.all(numbers(300).map((n) => together('a', row(n), 0)))
  expect(sizes()).toEqual([150, 150])
  expect(pushes.map(({ length }) => length)).toEqual([150, 150])
})

test('while two are away the others gather, and go as soon as one is back', async () => {
  const { together, sent, sizes, shut } = scene()
  shut()
  const calls = numbers(200).map((n) => together('a', row(n), 0))
  await systemClock.gather()
  await systemClock.gather()
  for (const n of numbers(60)) calls.push(together('a', row(1_000 + n), 0))
  await systemClock.gather()
  expect(sizes()).toEqual([100, 100])
  sent[1]?.let()
  await calls[100]
  await systemClock.gather()
  await systemClock.gather()
  expect(sizes()).toEqual([100, 100, 60])
  for (const each of sent) each.let()
  expect((await allOf(calls)).every(({ status }) => status === 'fulfilled')).toBe(true)
})

test('each job has a line of its own', async () => {
  const { together, sent } = scene()
  await Promise.all([together('a', row(1), 0), together('b', row(2), 0), together('a', row(3), 0)])
  expect(sent.map(({ job, rows }) => [job, rows.map(({ id }) => id)])).toEqual([
    ['a', ['id-1', 'id-3']],
    ['b', ['id-2']],
  ])
})

test('rows of one id or one unique key never share a statement, and keep their order', async () => {
  const { together, sent } = scene()
  await Promise.all([
    together('a', row(1, { uniqueKey: 'u' }), 0),
    together('a', row(2, { uniqueKey: 'v' }), 0),
    together('a', row(3, { uniqueKey: 'u' }), 0),
    together('a', row(4, { idIsNew: false }), 0),
    together('a', row(4, { idIsNew: false, uniqueKey: 'u' }), 0),
    together('a', row(5), 0),
  ])
  const named = sent.filter(({ rows }) => rows[0]?.id !== 'id-5')
  expect(named.map(({ rows }) => rows.map(({ id, uniqueKey }) => `${id} ${uniqueKey ?? ''}`.trim()))).toEqual([
    ['id-1 u', 'id-2 v', 'id-4'],
    ['id-3 u'],
    ['id-4 u'],
  ])
  // A row without a name waits for no transaction, and shares no statement with rows that may.
  expect(sent.filter(({ rows }) => rows[0]?.id === 'id-5').map(({ rows }) => rows.length)).toEqual([1])
})

test('a statement holds no more than five thousand rows, nor more than 4 MiB of inputs', async () => {
  const many = scene()
  await Promise.all(numbers(12_500).map((n) => many.together('a', row(n), 0)))
  expect(many.sizes()).toEqual([5_000, 5_000, 1_250, 1_250])
  const long = scene()
  const input = `"${'x'.repeat(250_000)}"`
  await Promise.all(numbers(40).map((n) => long.together('a', row(n, { input }), 0)))
  expect(Math.max(...long.sizes())).toBe(16)
})

test('a row that the store refuses fails its own caller, and the others are stored once', async () => {
  const stored: string[] = []
  const { together } = scene({
    refuse(rows) {
      if (rows.some(({ id }) => id === 'id-3')) throw Object.assign(new Error('refused'), { code: '23514' })
      stored.push(...rows.map(({ id }) => id))
    },
  })
  const ends = await allOf(numbers(12).map((n) => together('a', row(n), 0)))
  expect(ends.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([3])
  expect(stored.sort()).toEqual(
    numbers(12)
      .filter((n) => n !== 3)
      .map((n) => `id-${n}`)
      .sort(),
  )
})

test('a store that is away fails all of a statement, and is asked once', async () => {
  const { together, sizes } = scene({
    refuse() {
      throw Object.assign(new Error('away'), { code: '57P01' })
    },
  })
  const ends = await allOf(numbers(12).map((n) => together('a', row(n), 0)))
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true)
  expect(sizes()).toEqual([12])
})

test('a store that goes away in between fails those who are not stored, and no others', async () => {
  let calls = 0
  const { together } = scene({
    refuse() {
      calls++
      if (calls === 1) throw Object.assign(new Error('refused'), { code: '22P02' })
      if (calls > 2) throw Object.assign(new Error('away'), { code: '57P01' })
    },
  })
  const ends = await allOf(numbers(4).map((n) => together('a', row(n), 0)))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
})

test('an id of another job’s intent fails its caller; held and merged ones are told so', async () => {
  const { together, pushes } = scene({
    answer: (given) => ({
      ...plain(given),
      ...(given.id === 'id-0' ? { added: false, usedBy: 'b' } : {}),
      ...(given.id === 'id-1' ? { paused: true } : {}),
      ...(given.id === 'id-2' ? { added: false, heldBy: 'id-9' } : {}),
    }),
  })
  const [used, held, merged, added] = await allOf(numbers(4).map((n) => together('a', row(n), 0)))
  expect(used).toMatchObject({ status: 'rejected', reason: { code: 'id_in_use' } })
  expect(held).toMatchObject({ value: { ...one, held: 1, keys: ['id-1'] } })
  expect(merged).toMatchObject({ value: { ...one, merged: 1, keys: ['id-9'] } })
  expect(added).toMatchObject({ value: { ...one, added: 1, keys: ['id-3'] } })
  expect(pushes.flat().map(({ key }) => key)).toEqual(['id-9', 'id-3'])
})

test('of a queue that takes some of the hints each caller learns whether it took its own', async () => {
  const { together, queued } = scene({ room: 5 })
  const reports = await Promise.all(numbers(12).map((n) => together('a', row(n), 0)))
  expect(reports.flatMap(({ added, keys }) => (added === 1 ? keys : []))).toEqual([...queued])
  expect(reports.filter(({ dropped }) => dropped === 1)).toHaveLength(7)
})
