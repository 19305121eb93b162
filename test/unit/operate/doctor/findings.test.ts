// What the doctor decides of facts that no test server shows by itself.
import { describe, expect, test } from 'vitest'
import type { DoctorFinding } from '../../../../src/operate/doctor/finding.ts'
import { ofReads } from '../../../../src/operate/doctor/job-findings.ts'
import { ofQueue } from '../../../../src/operate/doctor/queue-findings.ts'
import { ofClock, ofStore } from '../../../../src/operate/doctor/store-findings.ts'
import type { QueryCost, StoreFacts } from '../../../../src/store/diagnosis.ts'

const found = (findings: readonly DoctorFinding[]) => findings.map(({ level, code }) => `${level} ${code}`)

describe('the store:', () => {
  const facts: StoreFacts = {
    ...{ user: 'shop', serverVersion: 150_004, replica: false, readOnly: false, rightsMissing: [] },
    schema: { found: 6, newest: 6, oldest: 5 },
    sessions: { open: 89, most: 100 },
    connections: { from: 'address', most: 36, pooler: false },
  }

  test('a server with room is fine; with nine of ten connections in use it is told', () => {
    expect(ofStore(facts)).toEqual([])
    expect(found(ofStore({ ...facts, sessions: { open: 90, most: 100 } }))).toEqual(['warn connections_few'])
  })

  test('an old server, a replica', () => {
    expect(found(ofStore({ ...facts, serverVersion: 130_010 }))).toEqual(['bad server_old'])
    expect(ofStore({ ...facts, replica: true, readOnly: true })).toMatchObject([
      { level: 'bad', code: 'read_only', message: 'The store is a replica' },
    ])
  })

  test('a pool of four is one too few, one of five is not', () => {
    const pool = (most: number) => ({ ...facts, connections: { from: 'pool', most, pooler: false } as const })
    expect(found(ofStore(pool(4)))).toEqual(['warn pool_small'])
    expect(ofStore(pool(5))).toEqual([])
  })

  test('a clock is told from five seconds on, to either side', () => {
    expect(ofClock(4_999)).toEqual([])
    expect(ofClock(5_000)[0]?.message).toBe("The clock of this machine is 5s ahead of the database's")
    expect(ofClock(-3_600_000)[0]?.message).toBe("The clock of this machine is 1h behind the database's")
  })
})

describe('the queue:', () => {
  const on = (version: string) => ofQueue('redis', true, { server: { name: 'Redis', version, least: '6.2' } }, 1)

  test.each([
    ['5.0.14', 1],
    ['6.0.16', 1],
    ['6.2.0', 0],
    ['6.10.1', 0],
    ['7.4.2', 0],
    ['10.0', 0],
    ['', 0],
  ])('version "%s" is too old: %i', (version, findings) => {
    expect(found(on(version))).toEqual(findings ? ['bad queue_old'] : [])
  })

  test('memory of one process beside two workers', () => {
    expect(ofQueue('memory', false, {}, 1)).toEqual([])
    expect(found(ofQueue('memory', false, {}, 2))).toEqual(['warn queue_not_shared'])
  })

  test('a large table is not bloat while it is full of hints', () => {
    const mebibyte = 1024 * 1024
    expect(ofQueue('postgres', true, { size: { bytes: 100 * mebibyte, hints: 1_000_000 } }, 1)).toEqual([])
    expect(ofQueue('postgres', true, { size: { bytes: 60 * mebibyte, hints: 0 } }, 1)).toEqual([])
    expect(found(ofQueue('postgres', true, { size: { bytes: 100 * mebibyte, hints: 10 } }, 1))).toEqual([
      'warn queue_bloat',
    ])
  })
})

describe('a statement that was given up:', () => {
  const cost = { rows: 10_000, rowsRead: 5_000_000, blocks: null, ms: null }
  const reads: QueryCost = {
    costs: { job: 'order.ship', page: cost, nextPage: null, lastPage: null, check: cost, indexes: [] },
    ...{ tooMuch: [], slow: [], tables: [] },
  }

  test('is bad, and says that the figures are the planner’s', () => {
    const table = { schema: 'public', name: 'orders' }
    const advice = {
      table,
      statement: 'create index …;',
      after: { rows: 10, blocks: 17 },
      leftOut: [],
      existing: null,
      planners: false,
    }
    const each = { read: { rows: 5_000_000, blocks: null }, cost, gaveUp: true, advice }
    expect(
      ofReads({
        ...reads,
        tooMuch: [
          { ...each, part: 'page' },
          { ...each, part: 'check' },
        ],
      }),
    ).toMatchObject([
      {
        ...{ level: 'bad', code: 'index_missing', fix: 'create index …;' },
        message:
          'order.ship: its page reads 5,000,000 rows of public.orders to find 10,000 (the planner says; it was given up after 5s), and so does its check',
      },
    ])
  })

  test('is told also where no table is to blame', () => {
    expect(ofReads({ ...reads, slow: ['next_page'] })).toMatchObject([
      { level: 'bad', code: 'reads_much', message: 'order.ship: its next page did not end within 5s', fix: null },
    ])
  })
})
