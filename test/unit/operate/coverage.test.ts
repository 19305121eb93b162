// What coverage goes on with when a question takes too long or is refused, and how findings are worded; without a database.
import { expect, test } from 'vitest'
import { RegrowError } from '../../../src/base/errors.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { Attempts } from '../../../src/operate/coverage/attempts.ts'
import { findingsOf } from '../../../src/operate/coverage/findings.ts'
import type { CoveredColumn, CoveredValue } from '../../../src/operate/coverage/report.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const failing = (error: object) => () => Promise.reject(Object.assign(new Error('no\nsecond line'), error))
const codes = (attempts: Attempts) =>
  attempts.findings().map(({ level, code, message }) => `${level} ${code}: ${message}`)

test('what takes too long or is refused has an answer to go on with, and is told once', async () => {
  const attempts = new Attempts(new VirtualClock(), classify, 1_000)
  expect(await attempts.ask('a.state', 1, async () => 2)).toBe(2)
  expect(codes(attempts)).toEqual([])
  expect(await attempts.ask('a.state', 1, failing({ code: '57014' }))).toBe(1)
  expect(await attempts.ask('a.state', 1, failing({ code: 'deadline' }))).toBe(1)
  expect(await attempts.ask('b.state', 1, failing({ code: '42501' }))).toBe(1)
  expect(codes(attempts)).toEqual([
    'warn coverage_refused: b.state: a question about it was refused: no',
    'note coverage_late: a.state: not everything could be looked at in time',
  ])
})

test('when the time is over nothing more is asked', async () => {
  const clock = new VirtualClock()
  const attempts = new Attempts(clock, classify, 1_000)
  await clock.pass(1_001, async () => {})
  expect(await attempts.ask('a.state', 'not asked', async () => 'asked')).toBe('not asked')
  expect(codes(attempts)).toEqual(['note coverage_late: a.state: not everything could be looked at in time'])
})

test('a store that is away is no answer', async () => {
  const attempts = new Attempts(new VirtualClock(), classify, 1_000)
  const away = new RegrowError('store_away', 'The store went away', 'Try again.')
  await expect(attempts.ask('a.state', 1, () => Promise.reject(away))).rejects.toBe(away)
  await expect(attempts.ask('a.state', 1, failing({ code: '57P01' }))).rejects.toThrow('no')
})

const value = (given: Partial<CoveredValue>): CoveredValue => ({
  value: 'x',
  terminal: false,
  claims: [],
  waits: null,
  asked: [],
  unclaimed: null,
  ...given,
})
const column = (given: Partial<CoveredColumn>): CoveredColumn => ({
  table: 'public.a',
  column: 'state',
  shown: 'a.state',
  jobs: [{ job: 'one', terminal: ['y'] }],
  from: 'enum',
  bounded: null,
  values: [],
  strangers: [],
  waitStrangers: [],
  workers: {},
  shared: [],
  ...given,
})
const told = (given: Partial<CoveredColumn>) => findingsOf(column(given)).map(({ level, code }) => `${level} ${code}`)

test('a claim that is not known is never called unclaimed, and never taken for a claim', () => {
  const unknown = { job: 'one', proof: 'unknown', clock: false, others: [] } as const
  const rows = { count: 1, more: false, keys: ['1'] }
  expect(told({ values: [value({})] })).toEqual(['bad state_unclaimed'])
  expect(told({ values: [value({ claims: [unknown] })] })).toEqual(['note state_unknown'])
  expect(told({ values: [value({ claims: [unknown], unclaimed: rows })] })).toEqual(['bad rows_unclaimed'])
  expect(told({ values: [value({ claims: [{ ...unknown, clock: true }], unclaimed: rows })] })).toEqual([
    'note rows_not_yet',
  ])
  expect(told({ values: [value({ value: 'y', terminal: true, claims: [unknown] })] })).toEqual([])
})

test('a state that waits on purpose is a note; one that may wait for another table is told apart from one that nobody will find', () => {
  const rows = { count: 1, more: false, keys: ['1'] }
  const claim = { job: 'one', proof: 'rows', clock: false, others: [] } as const
  const joined = { ...claim, others: ['public.b', 'app.c'] }
  expect(told({ values: [value({ waits: 'b is there' })] })).toEqual(['note state_waits'])
  expect(told({ values: [value({ waits: 'b is there', claims: [claim], unclaimed: rows })] })).toEqual([
    'note state_waits',
  ])
  expect(told({ values: [value({ waits: 'b is there', claims: [claim] })] })).toEqual([])
  expect(told({ values: [value({ asked: ['two'] })] })).toEqual(['warn state_asked_elsewhere'])
  expect(told({ values: [value({ claims: [claim], unclaimed: rows })] })).toEqual(['bad rows_unclaimed'])
  const waiting = { values: [value({ claims: [joined], unclaimed: rows })], workers: { 'public.b': ['two'] } }
  expect(told(waiting)).toEqual(['warn rows_waiting'])
  expect(findingsOf(column(waiting))[0]?.message).toBe(
    `a.state: 'x': no pending query returns 1 row (1) now; one also asks b, app.c, and may return them when a row there changes (two works on that)`,
  )
})

test('terminal lists that say the same in another order do not differ; one that says nothing agrees', () => {
  const jobs = (...lists: (string[] | null)[]) => lists.map((terminal, i) => ({ job: `job${i}`, terminal }))
  expect(told({ jobs: jobs(['a', 'b'], ['b', 'a', 'a'], null) })).toEqual([])
  expect(told({ jobs: jobs(['a', 'b'], ['b'], null) })).toEqual(['warn terminal_differs'])
})

test('a text column without a list is told of slips only', () => {
  const values = [value({ value: 'ready' })]
  const strangers = (given: string, from: CoveredColumn['from'], bounded: string | null = null) =>
    told({ values, strangers: [given], from, bounded }).filter((each) => each.includes('terminal_unknown'))
  expect(strangers('raedy', 'rows')).toHaveLength(1)
  expect(strangers('archived', 'rows')).toHaveLength(0)
  expect(strangers('raedy', 'rows', 'too many')).toHaveLength(0)
  expect(strangers('archived', 'check')).toHaveLength(1)
})
