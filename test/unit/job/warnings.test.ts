// The lines that a person reads without having asked: each names what it is about, in words that need no manual.
import { expect, test } from 'vitest'
import { Events } from '../../../src/base/events.ts'
import type { LogRecord } from '../../../src/base/log.ts'
import { classify } from '../../../src/drivers/postgres/store/errors.ts'
import { RegrowError } from '../../../src/index.ts'
import type { EventMap } from '../../../src/job/event-map.ts'
import { Reporter } from '../../../src/job/reporter.ts'
import { warningOf } from '../../../src/job/warnings.ts'
import { isOutage } from '../../../src/store/errors.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
const broken = new RegrowError(
  'bad_pending',
  'Job "thing.make": the pending query cannot be run: relation "nothing" does not exist',
  'Mend the query.',
  new Error('relation "nothing" does not exist'),
)

const cases: { [Name in keyof EventMap]?: readonly (readonly [EventMap[Name], string])[] } = {
  'queue.healed': [
    [{ epoch: 2, pushed: 1, tookMs: 24 }, 'the queue has grown back: 1 hint in 24ms'],
    [{ epoch: 2, pushed: 48_210, tookMs: 7_400 }, 'the queue has grown back: 48210 hints in 7.4s'],
  ],
  'hint.dropped': [
    [
      { count: 1, why: 'queue', error: refused },
      `the queue did not take 1 hint; the sweep finds the rows: ${refused.message}`,
    ],
    [
      { count: 2, why: 'foreign', error: null },
      'the queue held 2 hints that no job has a key for; they were discarded',
    ],
  ],
  'worker.freed': [
    [{ workers: 1, keys: 0 }, '1 worker died; no key was freed'],
    [{ workers: 1, keys: 1 }, '1 worker died; 1 key was freed'],
    [{ workers: 2, keys: 3 }, '2 workers died; 3 keys were freed'],
  ],
  'sweep.failed': [
    [
      { job: 'thing.make', error: broken },
      'the sweep of thing.make failed: the pending query cannot be run: relation "nothing" does not exist. Mend the query.',
    ],
    [
      { job: 'thing.make', error: refused },
      `the store cannot be reached; this worker goes on when it is back: ${refused.message}`,
    ],
  ],
  'loop.failed': [
    [
      { loop: 'beat', error: refused },
      `the store cannot be reached; this worker goes on when it is back: ${refused.message}`,
    ],
    [{ loop: 'open', error: refused }, `the store cannot be reached, this worker waits for it: ${refused.message}`],
    [{ loop: 'free_dead', error: new Error('no') }, 'looking for dead workers failed and is tried again: no'],
    [
      { loop: 'claim', job: 'thing.make', error: new Error('no') },
      'claiming keys of thing.make failed and is tried again: no',
    ],
    [
      { loop: 'schedules', schedule: 'mail.weekly', error: new Error('no') },
      'the schedule mail.weekly failed and is tried again: no',
    ],
    [
      { loop: 'canary', error: refused },
      `asking whether the queue was lost failed and is tried again: ${refused.message}`,
    ],
    [
      { loop: 'beat', error: Object.assign(new Error('canceling statement'), { code: '57014' }) },
      'the heartbeat of this worker failed and is tried again: canceling statement',
    ],
  ],
  'loop.stalled': [[{ loop: 'local_sweep' }, 'looking for work in the store took too long and was restarted']],
  'slot.skipped': [
    [
      { schedule: 'report', at: '2026-01-01T03:00Z', reason: 'missed', through: null, count: null },
      'report: 2026-01-01T03:00Z was skipped, no worker was there',
    ],
    [
      { schedule: 'report', at: '2026-01-01T03:00Z', reason: 'missed', through: '2026-01-03T03:00Z', count: 3 },
      'report: 2026-01-01T03:00Z to 2026-01-03T03:00Z, 3 instants, were skipped, no worker was there',
    ],
    [
      { schedule: 'report', at: '2026-01-01T03:00Z', reason: 'overlap', through: '2026-01-03T03:00Z', count: null },
      'report: 2026-01-01T03:00Z to 2026-01-03T03:00Z were skipped, the run before it had not ended',
    ],
    [{ schedule: 'report', at: 'x', reason: 'paused', through: null, count: null }, ''],
  ],
  'job.settled': [
    [{ job: 'thing.make', key: '7', state: 'done', error: null, tookMs: 1 }, ''],
    [
      { job: 'thing.make', key: '7', state: 'retrying', error: 'Error: no\n    at x', tookMs: 1 },
      'thing.make 7 failed, and is tried again: Error: no',
    ],
  ],
}

const outage = (error: unknown) => isOutage(error, classify)

test.each(Object.entries(cases).flatMap(([name, each]) => each.map(([detail, line]) => [name, line, detail] as const)))(
  '%s is told as %j',
  (name, line, detail) => {
    expect(warningOf(name as keyof EventMap, detail as never, outage)?.message ?? '').toBe(line)
  },
)

function scene() {
  const clock = new VirtualClock()
  const events = new Events<EventMap>()
  const records: LogRecord[] = []
  new Reporter(clock, events, (record) => void records.push(record), outage)
  return { clock, events, lines: () => records.map(({ message }) => message) }
}

test('one mistake in two hundred jobs names the first of them and counts the others; another mistake is said beside it', async () => {
  const { clock, events, lines } = scene()
  for (let n = 0; n < 200; n++) events.emit('sweep.failed', { job: `job.n${n}`, error: new Error('no table') })
  events.emit('sweep.failed', { job: 'job.n7', error: new Error('another') })
  expect(lines()).toHaveLength(10)
  expect(lines().slice(0, 2)).toEqual(['the sweep of job.n0 failed: no table', 'the sweep of job.n1 failed: no table'])
  expect(lines().at(-1)).toBe('the sweep of job.n7 failed: another')
  await clock.pass(11_000)
  expect(lines().at(-1)).toBe('the sweep of job.n199 failed: no table (and 190 more like it in the last 10s)')
})

test('all that fails while the store is away is one line, whatever it is and however it fails', async () => {
  const { clock, events, lines } = scene()
  const stopping = Object.assign(new Error('the database system is shutting down'), { code: '57P03' })
  for (const error of [stopping, refused])
    for (const loop of ['beat', 'free_dead', 'sweep', 'schedules'] as const) events.emit('loop.failed', { loop, error })
  for (let n = 0; n < 50; n++) events.emit('sweep.failed', { job: `job.n${n}`, error: refused })
  expect(lines()).toEqual([
    'the store cannot be reached; this worker goes on when it is back: the database system is shutting down',
  ])
  await clock.pass(11_000)
  expect(lines().slice(1)).toEqual([
    `the store cannot be reached; this worker goes on when it is back: ${refused.message} (and 56 more like it in the last 10s)`,
  ])
})

test('a line that is said later than it happened does not promise what may be over by then', async () => {
  const clock = new VirtualClock()
  const events = new Events<EventMap>()
  const lines: string[] = []
  const reporter = new Reporter(clock, events, ({ message }: LogRecord) => void lines.push(message), outage)
  const settled = (state: 'retrying' | 'quarantined') =>
    events.emit('job.settled', { job: 'thing.make', key: 'a', state, error: 'Error: no', tookMs: 1 })
  settled('retrying')
  settled('retrying')
  settled('quarantined')
  reporter.flush()
  expect(lines).toEqual([
    'thing.make a failed, and is tried again: Error: no',
    'thing.make a is in quarantine: Error: no',
    expect.stringMatching(/^thing\.make a had failed: Error: no \(in the last \d+s\)$/),
  ])
})
