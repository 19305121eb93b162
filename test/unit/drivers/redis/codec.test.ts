// What goes into the scripts of the Redis queue and comes out of them.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allotted, markOf, pagesOf, readPop, worst } from '../../../../src/drivers/redis/codec.ts'
import { Places } from '../../../../src/drivers/redis/keys.ts'

test('pages hold each hint once, of one job and lane, all due or all delayed, a thousand at most', () => {
  const hint = fc.record({
    job: fc.constantFrom('a', 'b', '0a'),
    key: fc.nat(9_999).map(String),
    delayMs: fc.constantFrom(-1, 0, 0, 5, 0.5),
    fresh: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(hint, { maxLength: 50 }), fc.integer({ min: 1, max: 60 }), (some, times) => {
      const hints = Array.from({ length: times }, () => some).flat()
      const pages = pagesOf(hints)
      const found = pages.flatMap(({ job, fresh, keys, delays }) => {
        expect(keys.length).toBeLessThanOrEqual(1_000)
        if (delays) expect(delays.length).toBe(keys.length)
        return keys.map((key, i) => `${job} ${fresh} ${key} ${delays ? delays[i] : 'due'}`)
      })
      const given = hints.map(
        (each) => `${each.job} ${each.fresh} ${each.key} ${each.delayMs > 0 ? each.delayMs : 'due'}`,
      )
      expect(found.sort()).toEqual(given.sort())
      const kinds = new Set(hints.map(({ job, fresh, delayMs }) => `${job} ${fresh} ${delayMs > 0}`))
      expect(pages.length).toBeLessThanOrEqual(kinds.size + Math.floor(hints.length / 1_000))
    }),
  )
})

test('an answer of a pop is read back to hints, whatever their keys look like', () => {
  const answer = ['3 7', 12, 1, 1, 2, '0', '', 0, 0, 1, '1']
  expect(readPop(answer, [{ job: 'a' }, { job: 'b' }])).toEqual({
    mark: { epoch: 3, sequence: 7 },
    nextMs: 12,
    hints: [
      { job: 'b', key: '0', fresh: true },
      { job: 'b', key: '', fresh: true },
      { job: 'a', key: '1', fresh: false },
    ],
    repaired: [],
  })
  expect(readPop(['', -1, -1, 2, 1, '{regrow}:fresh:a'], [{ job: 'a' }])).toEqual({
    mark: null,
    nextMs: -1,
    hints: [],
    repaired: ['{regrow}:fresh:a'],
  })
})

test('the job of a key is what comes behind its lane, whatever the name holds', () => {
  const places = new Places('regrow', 2)
  for (const job of ['a', 'wake:a', 'a}:fresh:b', 'two\nlines'])
    for (const key of places.of(job).keys) expect(places.jobOf(key), key).toBe(job)
  for (const { owner, mark, jobs } of places.slots)
    for (const key of [owner, mark, jobs]) expect(places.jobOf(key), key).toBeNull()
})

test('a mark that is none reads as none', () => {
  for (const text of [
    '',
    'x',
    '1',
    '1 x',
    ' ',
    'null',
    '01 2',
    '1 02',
    '-1 2',
    '1.0 2',
    '9007199254740993 2',
    '1 9007199254740992',
    '1e3 1',
  ])
    expect(markOf(text), text).toBeNull()
  expect(markOf(`0 ${Number.MAX_SAFE_INTEGER}`)).toEqual({ epoch: 0, sequence: Number.MAX_SAFE_INTEGER })
})

test('a queue over several slots has the mark of the worst: none when one has none, else the oldest', () => {
  const mark = (epoch: number, sequence: number) => ({ epoch, sequence })
  expect(worst([mark(2, 5), null, mark(2, 5)])).toBeNull()
  expect(worst([mark(2, 5), mark(2, 4), mark(2, 6)])).toEqual(mark(2, 4))
  expect(worst([mark(2, 1), mark(1, 9)])).toEqual(mark(1, 9))
})

test('a pop over several slots takes its share of the swept lanes, then fresh hints, then swept ones', () => {
  const there = new Map([
    ['a', [5, 5, 0]],
    ['b', [1, 9, 0]],
  ])
  const jobs = [
    { job: 'a', limit: 4 },
    { job: 'b', limit: 6 },
  ]
  expect(allotted(jobs, 8, 1, there)).toEqual([
    { job: 'a', limit: 4, fresh: 3, swept: 1 },
    { job: 'b', limit: 4, fresh: 1, swept: 3 },
  ])
  expect(allotted(jobs, 0, 0, there).every(({ limit }) => limit === 0)).toBe(true)
})

test('all keys of a job, and what goes with them, have the hash tag of one slot; jobs are spread over all slots', () => {
  const places = new Places('ns', 3)
  const used = new Set<number>()
  for (let n = 0; n < 60; n++) {
    const { slot, keys, wake } = places.of(`job:{x}.${n}`)
    used.add(slot.number)
    for (const key of [...keys, wake, slot.owner, slot.mark, slot.jobs, slot.call('id')])
      expect(/\{([^}]+)\}/.exec(key)?.[1]).toBe(`ns:${slot.number}`)
  }
  expect(used.size).toBe(3)
  expect(new Places('ns', 1).of('a').keys[1]).toBe('{ns}:fresh:a')
})
