// Facts in, a reason out: each reason is reached, and each says what comes next.
import { expect, test } from 'vitest'
import { decide } from '../../../src/operate/why/decide.ts'
import type { WhyFacts } from '../../../src/operate/why/facts.ts'
import { type WhyReason, whyReasons } from '../../../src/operate/why/reason.ts'

const at = new Date('2030-01-01T12:00:00Z')
const minutes = (count: number) => new Date(at.getTime() + count * 60_000)

const sweep: NonNullable<WhyFacts['sweep']> = {
  ...{ nextAt: minutes(1), sweeping: false, lastAttemptAt: at, lastSuccessAt: at, lastError: null, everyMs: 60_000 },
  ...{
    errors: 0,
    seen: 1,
    pushed: 0,
    held: 0,
    tookMs: 1,
    dropped: 0,
    unusable: null,
    pending: null,
    oldestAt: null,
    healing: false,
  },
}
const ledger: NonNullable<WhyFacts['ledger']> = {
  ...{ state: 'retrying', version: null, failures: 0, crashes: 0, suspect: false, retryAt: null, error: null },
  ...{ updatedAt: minutes(-5), claim: null },
}
const worker = { host: 'h', pid: 7, beatAt: at, stuck: 0 }

/** A key that is pending and has a hint, with a worker that could run it. */
const usual: WhyFacts = {
  ...{ job: 'ship', kind: 'pending', key: '7', item: '7', at, ledger: null, intent: null, pause: null, sweep },
  ...{ workers: { live: 2, able: 1 }, otherSuspect: false, graceUntil: null, noProgress: 0 },
  pending: { state: 'pending', version: null, waitMs: 0 },
  queue: { name: 'redis', shared: true, down: false },
  ...{ hint: { dueInMs: 0, fresh: true }, dueHints: 1, versioned: false },
  ...{ running: 0, concurrency: null, attemptsMax: 20, timeoutMs: 900_000, leaseMs: 15_000, sweepJitterMs: 0 },
}
const pause = { job: 'ship', reason: 'r', author: 'ann', since: minutes(-1), until: null, backlog: null }

const long = 'x'.repeat(1_025)

const cases: readonly [WhyReason, Partial<WhyFacts>, next: RegExp][] = [
  ['key_unusable', { key: 'k'.repeat(1_025) }, /it never runs/],
  ['query_broken', { pending: { state: 'broken', error: 'no such table' } }, /tries again in 1m/],
  ['key_unusable', { key: long, item: null }, /never runs/],
  [
    'running',
    { ledger: { ...ledger, state: 'running', claim: { worker, beating: true, alone: false } } },
    /aborted 15m/,
  ],
  ['claim_silent', { ledger: { ...ledger, claim: { worker, beating: false, alone: false } } }, /frees the claim/],
  ['claim_silent', { ledger: { ...ledger, claim: { worker: null, beating: false, alone: false } } }, /frees the claim/],
  ['no_row', { pending: { state: 'not', unmet: { kind: 'no_row', table: 'orders' } } }, /^Nothing/],
  ['no_row', { kind: 'input', pending: { state: 'not', unmet: null } }, /^Nothing/],
  ['no_row', { kind: 'schedule', pending: { state: 'not', unmet: null } }, /^Nothing/],
  ['not_pending', { pending: { state: 'not', unmet: null } }, /^Nothing/],
  ['quarantined', { ledger: { ...ledger, state: 'quarantined', failures: 20 } }, /until a person releases it/],
  ['paused', { pause }, /until somebody resumes/],
  ['paused', { pause: { ...pause, until: minutes(3) } }, /over in 3m/],
  ['run_at', { pending: { state: 'pending', version: null, waitMs: 60_000 } }, /starts then/],
  ['no_worker', { workers: { live: 2, able: 0 } }, /as soon as a worker/],
  [
    'no_progress',
    {
      ledger: {
        ...ledger,
        failures: 1,
        retryAt: minutes(1),
        error: 'It ran and returned, but the row is still pending',
      },
    },
    /2nd time/,
  ],
  ['no_progress', { hint: null, noProgress: 3 }, /once per sweep: the next pass is due in 1m/],
  ['backed_off', { ledger: { ...ledger, failures: 2, crashes: 1, retryAt: minutes(1), error: 'x' } }, /4th time/],
  ['backed_off', { ledger: { ...ledger, retryAt: minutes(1) } }, /It runs then/],
  ['suspect', { ledger: { ...ledger, crashes: 2, suspect: true } }, /nothing beside it/],
  ['queue_down', { queue: { name: 'redis', shared: true, down: true }, hint: 'unknown' }, /Nothing is lost/],
  ['queued', {}, /its turn comes/],
  ['queued', { concurrency: 2, running: 1 }, /its turn comes/],
  ['queued', { concurrency: 2, running: 3, workers: { live: 2, able: 2 } }, /its turn comes/],
  ['slots_full', { concurrency: 2, running: 2 }, /when one of these ends/],
  ['slots_full', { concurrency: 2, running: 4, workers: { live: 2, able: 2 }, dueHints: 9 }, /when one of these ends/],
  ['hinted_later', { hint: { dueInMs: 5_000, fresh: false } }, /pops it then/],
  ['sweep_failing', { hint: null, sweep: { ...sweep, errors: 2, lastError: 'timeout' } }, /a lost hint stays lost/],
  ['queue_full', { hint: null, sweep: { ...sweep, dropped: 9 } }, /as the queue drains/],
  ['sweep_late', { hint: null, sweep: { ...sweep, nextAt: minutes(-10) } }, /look at their logs/],
  ['not_hinted', { hint: null }, /next pass is due in 1m/],
  ['not_hinted', { hint: null, sweep: { ...sweep, sweeping: true } }, /a pass is under way/],
  ['hint_unknown', { hint: 'unknown', queue: { name: 'memory', shared: false, down: false } }, /pops its hint/],
]

test.each(cases)('%s: %j', (reason, facts, next) => {
  const told = decide({ ...usual, ...facts })
  expect(told.reason).toBe(reason)
  expect(told.next).toMatch(next)
  expect(told.sentence).toMatch(/^[A-Z`].*[^ ]$/)
})

test('every reason is among these', () => {
  expect([...new Set(cases.map(([reason]) => reason))].sort()).toEqual([...whyReasons].sort())
})

test('another version of the row is new work: what the old one failed of does not hold it back', () => {
  const old = { ...ledger, state: 'quarantined' as const, version: '1', failures: 20 }
  const pending = { state: 'pending' as const, waitMs: 0 }
  expect(decide({ ...usual, ledger: old, pending: { ...pending, version: '1' } }).reason).toBe('quarantined')
  expect(decide({ ...usual, ledger: old, pending: { ...pending, version: '2' } }).reason).toBe('queued')
})

test('who holds it answers alone; what else holds it back is told in the order in which it has to go', () => {
  const held = { ...ledger, claim: { worker, beating: true, alone: false } }
  expect(decide({ ...usual, ledger: held, pause }).also).toEqual([])
  const aside = { ...ledger, state: 'quarantined' as const }
  const { reason, also } = decide({ ...usual, ledger: aside, pause, workers: { live: 0, able: 0 } })
  expect([reason, ...also.map((each) => each.reason)]).toEqual(['quarantined', 'paused', 'no_worker'])
})

test('lines to type are safe in a shell, and keys that begin with a minus stand behind two of them', () => {
  const lines = (facts: Partial<WhyFacts>) => decide({ ...usual, ...facts }).commands.map(({ line }) => line)
  expect(lines({ hint: null, item: `it's; rm -rf` })[0]).toBe(`regrow enqueue ship 'it'\\''s; rm -rf'`)
  expect(lines({ hint: null, item: '-5' })[0]).toBe('regrow enqueue ship -- -5')
  expect(lines({ ledger: { ...ledger, state: 'quarantined' }, key: '["1","x"]' })).toEqual([
    `regrow quarantine show ship '["1","x"]'`,
    `regrow quarantine release ship '["1","x"]'`,
  ])
})

test('a broken query of a job without a live worker is tried again by nobody before one starts', () => {
  const broken = { pending: { state: 'broken', error: 'no such table' }, workers: { live: 0, able: 0 } } as const
  const found = decide({ ...usual, ...broken })
  expect([found.reason, ...found.also.map(({ reason }) => reason)]).toEqual(['query_broken', 'no_worker'])
  expect(found).toMatchObject({
    next: expect.stringContaining('when a worker that has the handler is there'),
    nextAt: null,
  })
  expect(decide({ ...usual, ...broken, sweep: null }).also[0]?.sentence).toContain('none ever had it')
})

test.each([
  [10 * 365.25 * 86_400_000, 'pending'],
  [100 * 365.25 * 86_400_000, 'input'],
] as const)(
  'a time that is ten years away or more (%d ms) is told as that, since it may be infinity',
  (waitMs, kind) => {
    const found = decide({ ...usual, kind, pending: { state: 'pending', version: null, waitMs } })
    expect(found).toMatchObject({ reason: 'run_at', nextAt: null, next: expect.stringMatching(/^Nothing, as long as/) })
    expect(found.sentence).toContain('ten years or more away, or infinity')
  },
)

test('a hint that a jitter delays is told with its time, and so is what a sweep will hint with one', () => {
  const minute = 60_000
  const later = decide({ ...usual, hint: { dueInMs: 20 * minute, fresh: false }, sweepJitterMs: 30 * minute })
  expect(later.sentence).toMatch(
    /due in 20m\. A jitter of its enqueue or of the job's sweep \(`sweep\.jitter`, 30m\) has put it there/,
  )
  const none = decide({ ...usual, hint: null, sweepJitterMs: 30 * minute })
  expect(none.next).toBe(
    'The sweep finds it: the next pass is due in 1m, and it starts within 30m after that (`sweep.jitter`).',
  )
  expect(none.nextAt).toBe(null)
  const unknown = decide({ ...usual, hint: 'unknown', queue: { name: 'memory', shared: false, down: false } })
  expect(unknown.next).toContain('A hint that a jitter delays is left where it is')
})
