// Health on one screen: whatever the jobs are called and however many there are, it fits, and the worst is on it.
import { stripVTControlCharacters } from 'node:util'
import { createColors } from 'picocolors'
import { expect, test } from 'vitest'
import { cut } from '../../../../src/cli/output.ts'
import { watchText } from '../../../../src/cli/render/watch.ts'
import type { Finding, Health, JobHealth } from '../../../../src/operate/index.ts'

const at = new Date('2030-01-01T00:00:00Z')

const job = (name: string, more: Partial<JobHealth> = {}): JobHealth => ({
  ...{
    job: name,
    running: 0,
    retrying: 0,
    quarantined: 0,
    intents: 0,
    workers: 1,
    noProgress: 0,
    unowned: null,
    drainedAt: null,
  },
  ...{ pause: null, waiting: null, declared: true, hints: { due: 12_345, delayed: 67 } },
  drift: { pendingWithoutHint: { pushed: 0, left: 0 }, hintsWithoutRow: 0, claimsWithoutOwner: 0 },
  sweep: {
    ...{
      nextAt: at,
      sweeping: false,
      lastAttemptAt: at,
      lastSuccessAt: at,
      lastError: null,
      everyMs: 60_000,
      errors: 0,
    },
    ...{
      seen: 5,
      pushed: 0,
      held: 0,
      tookMs: 3,
      dropped: 0,
      unusable: null,
      pending: null,
      oldestAt: null,
      healing: false,
    },
  },
  ...more,
})

function health(jobs: readonly JobHealth[], findings: readonly Finding[] = []): Health {
  const workers = [
    {
      ...{ id: 'w', host: 'worker-with-a-long-name.example.org', pid: 12_345, jobs: jobs.map((each) => each.job) },
      ...{ startedAt: at, beatAt: at, live: true, running: 3, stuck: 0, leaseMs: null },
    },
  ]
  const queue = { name: 'redis', shared: true, down: false, unseen: [] }
  const pulse = { missing: false, setBack: null }
  return { healthy: findings.length === 0, at, jobs, workers, pulse, queue, findings, heals: [] }
}

const bad = (name: string): Finding => ({
  ...{
    level: 'bad',
    code: 'waiting_long',
    job: name,
    message: `${name}: rows wait for longer than an hour; ${'x'.repeat(90)}`,
  },
  hint: 'Start a worker that has it. '.repeat(8),
})
const forty = Array.from({ length: 40 }, (_, i) =>
  job(`department.of-very-long-names.${'sub'.repeat(12)}.job-number-${String(i).padStart(2, '0')}`),
)
const shown = (text: string) => stripVTControlCharacters(text).split('\n')

test.each([false, true])('forty jobs with long names fit into 80 x 24, with colours or without (%s)', (colours) => {
  const color = createColors(colours)
  const worst = forty[33] as JobHealth
  const findings = [worst, ...forty.slice(0, 7)].map((each) => bad(each.job))
  const lines = shown(
    watchText(health(forty, findings), 'postgres://app@db.example.org/shop', color, { columns: 80, rows: 24 }),
  )
  expect(lines.length).toBe(23)
  expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(80)
  expect(lines[0]).toBe('2030-01-01T00:00:00.000Z')
  expect(lines.join('\n')).toContain('!! department')
  expect(lines.join('\n')).toContain('… 2 more: regrow status tells all')
  const table = lines.slice(lines.findIndex((line) => line.startsWith('job ')))
  expect(table.some((line) => /number-33 /.test(line))).toBe(true)
  expect(table.at(-1)).toMatch(/^… \d+ more jobs$/)
})

test('a small fleet is shown whole: sweeps, workers, and what to do', () => {
  const jobs = [job('mail.send'), job('order.ship', { quarantined: 2 })]
  const found: Finding = { level: 'warn', code: 'quarantined', job: 'order.ship', message: 'two', hint: 'look' }
  const text = watchText(health(jobs, [found]), 'postgres://db/shop', createColors(false), { columns: 120, rows: 40 })
  for (const part of ['→ look', 'last success', 'worker-with-a-long-name', 'order.ship']) expect(text).toContain(part)
})

test('any screen is filled at most, down to three lines', () => {
  for (const rows of [3, 4, 6, 8, 12, 30, 60])
    for (const columns of [20, 40, 80, 200]) {
      const lines = watchText(
        health(
          forty,
          forty.map((each) => bad(each.job)),
        ),
        's',
        createColors(false),
        { columns, rows },
      ).split('\n')
      expect(lines.length, `${columns} x ${rows}`).toBeLessThan(rows)
      expect(Math.max(...lines.map((line) => line.length)), `${columns} x ${rows}`).toBeLessThanOrEqual(columns)
    }
})

test('colours take no room, and are ended where a line is cut', () => {
  expect(cut('\u001b[31m!!\u001b[39m hello', 8)).toBe('\u001b[31m!!\u001b[39m hello')
  expect(cut('\u001b[31mabcdef\u001b[39m', 4)).toBe('\u001b[31mabc\u001b[39m…')
})
