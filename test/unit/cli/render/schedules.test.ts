// Schedules as people read them.
import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import { localText, schedulesTable, scheduleText, standing } from '../../../../src/cli/render/schedules.ts'
import type { ScheduleInfo } from '../../../../src/operate/index.ts'

const color = createColors(false)
const at = (text: string) => new Date(text)
const info: ScheduleInfo = {
  name: 'report.nightly',
  job: 'report.nightly',
  cron: '0 3 * * *',
  everyMs: null,
  calendar: null,
  key: null,
  input: null,
  handed: null,
  tz: 'Europe/Berlin',
  missed: 'once',
  overlap: 'skip',
  jitterMs: 0,
  startAt: null,
  endAt: null,
  version: 1,
  declared: true,
  lastSlot: at('2026-03-28T02:00:00Z'),
  nextSlot: at('2026-03-29T01:00:00Z'),
  running: false,
  lastAuditAt: null,
  paused: null,
  ended: null,
  live: true,
}

test.each([
  ['2026-03-29T00:59:59Z', 'Europe/Berlin', 'Sun 2026-03-29 01:59:59 +01:00'],
  ['2026-03-29T01:00:00Z', 'Europe/Berlin', 'Sun 2026-03-29 03:00:00 +02:00'],
  ['2026-01-01T00:00:00Z', 'UTC', 'Thu 2026-01-01 00:00:00 +00:00'],
  ['2026-01-01T00:00:00Z', 'America/St_Johns', 'Wed 2025-12-31 20:30:00 -03:30'],
  ['2026-01-01T00:00:00Z', 'Mars/Base', '2026-01-01 00:00:00 UTC'],
])('%s in %s is %s', (instant, tz, text) => {
  expect(localText(at(instant), tz)).toBe(text)
})

test('how a schedule stands is one thing, the gravest', () => {
  const paused = { reason: 'x', author: 'ann', since: at('2026-01-01') }
  const ended = { at: at('2026-01-01'), why: 'absent' as const }
  expect(standing({ ...info, paused, ended, live: false })).toBe('ended, absent')
  expect(standing({ ...info, paused, live: false })).toBe('paused')
  expect(standing({ ...info, live: false, running: true })).toBe('no worker')
  expect(standing({ ...info, running: true })).toBe('running')
  expect(standing(info)).toBe('waiting')
  expect(standing({ ...info, nextSlot: null })).toBe('over')
})

test('a table leaves out what does not fit, and never what it is about', () => {
  const rows = [info, { ...info, name: 'tidy', job: 'clean.up', cron: null, everyMs: 300_000, lastSlot: null }]
  expect(schedulesTable(rows, color, 120).split('\n')).toEqual([
    'schedule        job       recurs                      state    next (UTC)           last (UTC)',
    'report.nightly  –         0 3 * * * in Europe/Berlin  waiting  2026-03-29 01:00:00  2026-03-28 02:00:00',
    'tidy            clean.up  every 5m                    waiting  2026-03-29 01:00:00  –',
  ])
  expect(schedulesTable(rows, color, 80).split('\n')[0]).toBe(
    'schedule        recurs                      state    next (UTC)',
  )
})

test('one row that stands for many instants tells how many and through when; reasons cannot move the cursor', () => {
  const text = scheduleText(
    {
      ...info,
      paused: { reason: 'a\u001b[31m disk', author: 'ann', since: at('2026-01-01T10:00:00Z') },
      slots: [
        {
          at: at('2026-01-30T02:00:00Z'),
          dueAt: at('2026-01-30T02:00:00Z'),
          key: 'k',
          state: 'ran',
          reason: null,
          through: null,
          count: null,
          begunAt: at('2026-01-30T02:00:01Z'),
          endedAt: at('2026-01-30T02:01:01Z'),
          handed: null,
        },
        {
          at: at('2026-01-01T02:00:00Z'),
          dueAt: at('2026-01-01T02:00:00Z'),
          key: 'k',
          state: 'skipped',
          reason: 'missed',
          through: at('2026-01-29T02:00:00Z'),
          count: 29,
          begunAt: null,
          endedAt: at('2026-01-30T02:00:00Z'),
          handed: null,
        },
      ],
    },
    color,
    200,
  )
  expect(text).toContain('paused since 2026-01-01 10:00:00 UTC by ann: a\\x1b[31m disk')
  expect(text.split('\n').slice(-3)).toEqual([
    'slot (Europe/Berlin)            state            through                         instants  started  took',
    'Fri 2026-01-30 03:00:00 +01:00  ran              –                                      –  +1s      1m',
    'Thu 2026-01-01 03:00:00 +01:00  skipped: missed  Thu 2026-01-29 03:00:00 +01:00        29  –        –',
  ])
})
