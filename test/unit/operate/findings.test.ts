// What is unhealthy is decided in one place: each finding, its level, and the edge at which it begins.
import { describe, expect, test } from 'vitest'
import { type Finding, type FindingCode, findings, type State } from '../../../src/operate/findings.ts'
import type { JobStatus } from '../../../src/operate/status.ts'
import { waitingOf } from '../../../src/operate/waiting.ts'
import type { HealRow, PauseRow, SweepRow, WorkerRow } from '../../../src/store/status.ts'

const at = new Date('2030-01-01T12:00:00Z')
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const ago = (ms: number) => new Date(at.getTime() - ms)

const sweep = (more: Partial<SweepRow> = {}): SweepRow => ({
  nextAt: ago(-30 * second),
  sweeping: false,
  lastAttemptAt: ago(31 * second),
  lastSuccessAt: ago(30 * second),
  lastError: null,
  seen: 0,
  pushed: 0,
  held: 0,
  tookMs: 5,
  dropped: 0,
  unusable: null,
  everyMs: minute,
  errors: 0,
  pending: { count: 0, estimated: false, at: ago(30 * second) },
  oldestAt: null,
  healing: false,
  ...more,
})

const pause = (more: Partial<PauseRow> = {}): PauseRow => ({
  job: 'a',
  reason: 'provider is down',
  author: 'ann',
  since: ago(hour),
  until: null,
  backlog: 0,
  ...more,
})

const heal = (more: Partial<HealRow> = {}): HealRow => ({
  queue: 'postgres',
  epoch: 2,
  at: ago(minute),
  how: 'missing',
  noticedBy: 'host:7',
  pushed: 120,
  jobsLeft: 0,
  endedAt: ago(58 * second),
  ...more,
})

const worker = (more: Partial<WorkerRow> = {}): WorkerRow => ({
  id: 'w',
  host: 'host',
  pid: 7,
  jobs: ['a'],
  startedAt: ago(hour),
  beatAt: ago(second),
  live: true,
  running: 0,
  stuck: 0,
  leaseMs: 15_000,
  ...more,
})

const job = (more: Partial<JobStatus> = {}): JobStatus => ({
  job: 'a',
  running: 0,
  retrying: 0,
  quarantined: 0,
  intents: 0,
  workers: 1,
  noProgress: 0,
  drainedAt: null,
  unowned: null,
  sweep: sweep(),
  pause: null,
  declared: true,
  hints: { due: 0, delayed: 0 },
  ...more,
})

const state = (one: Partial<JobStatus> = {}, more: Partial<State> = {}): State => ({
  at,
  queue: { name: 'postgres', shared: true, down: false, unseen: [] },
  jobs: [job(one)],
  workers: [worker()],
  pulse: { missing: false, setBack: null },
  heals: [],
  stale: [],
  leaseMs: 15 * second,
  ...more,
})

/** Level and code of everything that is found. */
const found = (given: State): string[] => findings(given).map(({ level, code }) => `${level} ${code}`)
const theOne = (given: State, code: FindingCode): Finding => {
  const [one] = findings(given).filter((each) => each.code === code)
  if (!one) throw new Error(`no ${code} among ${found(given).join(', ')}`)
  return one
}

test('a fleet that is well has no findings, and every kind of finding is tried below', () => {
  expect(found(state())).toEqual([])
  expect(found({ ...state(), jobs: [], workers: [] })).toEqual([])
})

describe('the sweep', () => {
  test('is late three intervals and half a minute after its last success, not before', () => {
    const since = (ms: number, everyMs = minute) => state({ sweep: sweep({ lastSuccessAt: ago(ms), everyMs }) })
    expect(found(since(3 * minute + 30 * second))).toEqual([])
    expect(found(since(3 * minute + 30 * second + 1))).toEqual(['bad sweep_late'])
    expect(found(since(3 * hour, hour))).toEqual([])
    expect(found(since(20 * second, second))).toEqual([])
    expect(found(since(34 * second, second))).toEqual(['bad sweep_late'])
    expect(theOne(since(4 * minute), 'sweep_late')).toMatchObject({
      job: 'a',
      message: 'a: its sweep last succeeded 4m ago, and is meant to every 1m',
      hint: expect.stringContaining('regrow sweep a'),
    })
  })

  test('whose interval an older schema does not know is late when it has been due for so long', () => {
    const due = (ms: number) =>
      state({ sweep: sweep({ everyMs: null, lastSuccessAt: ago(5 * hour), nextAt: ago(ms) }) })
    expect(found(due(-hour))).toEqual([])
    expect(found(due(3 * minute + 30 * second))).toEqual([])
    expect(found(due(3 * minute + 31 * second))).toEqual(['bad sweep_late'])
  })

  test('that never succeeded has a minute from when it was due', () => {
    const never = (ms: number) => state({ sweep: sweep({ lastSuccessAt: null, nextAt: ago(ms) }) })
    expect(found(never(minute))).toEqual([])
    expect(found(never(minute + 1))).toEqual(['bad sweep_never'])
  })

  test('may fail once; the second failure in a row is bad, and is the one reason for being late', () => {
    const failed = (errors: number, since = minute) =>
      state({ sweep: sweep({ errors, lastError: 'relation "x" does not exist\nmore', lastSuccessAt: ago(since) }) })
    expect(found(failed(1))).toEqual(['warn sweep_failing'])
    expect(found(failed(2))).toEqual(['bad sweep_failing'])
    expect(found(failed(1, hour))).toEqual(['bad sweep_late', 'warn sweep_failing'])
    expect(found(failed(9, hour))).toEqual(['bad sweep_failing'])
    expect(theOne(failed(9), 'sweep_failing').message).toBe(
      'a: its sweep failed 9 times in a row: relation "x" does not exist',
    )
  })
})

describe('a job that no live worker has the handler of', () => {
  test('is bad when it was swept before, or something is known to wait', () => {
    expect(found(state({ workers: 0 }))).toEqual(['bad no_handler'])
    expect(found(state({ workers: 0, sweep: null }))).toEqual([])
    for (const waits of [{ intents: 1 }, { retrying: 1 }, { hints: { due: 1, delayed: 0 } }])
      expect(found(state({ workers: 0, sweep: null, ...waits }))).toEqual(['bad no_handler'])
  })

  test('is told as that, and with what its last sweep failed of: that it is late has the same reason', () => {
    const gone = sweep({
      lastSuccessAt: ago(hour),
      errors: 3,
      lastError: 'e',
      pending: { count: 7, estimated: false, at },
    })
    expect(found(state({ workers: 0, sweep: gone }))).toEqual(['bad no_handler', 'warn sweep_failing'])
    expect(found(state({ workers: 0, sweep: { ...gone, errors: 0 } }))).toEqual(['bad no_handler'])
    expect(theOne(state({ workers: 0, sweep: gone }), 'no_handler').message).toBe(
      'a: no live worker has its handler; about 7 wait for one',
    )
  })

  test('is only worth a look while it is paused', () => {
    expect(found(state({ workers: 0, pause: pause() }))).toEqual(['warn no_handler', 'warn paused'])
  })
})

test('a queue of the workers that this app does not have is bad: it may be down', () => {
  const queue = { name: 'redis', shared: true, down: false, unseen: ['redis'] }
  const [finding] = findings(state({ hints: null }, { queue }))
  expect(finding).toMatchObject({ level: 'bad', code: 'queue_unseen', job: null })
  expect(finding?.message).toContain('Workers use the queue redis,')
  expect(finding?.hint).toContain('--app')
})

test('a queue that does not answer is bad', () => {
  expect(found(state({}, { queue: { name: 'postgres', shared: false, down: true, unseen: [] } }))).toEqual([
    'bad queue_down',
  ])
})

describe('a loss of the queue', () => {
  test('is told for ten minutes, with what came back', () => {
    const lost = (ms: number) => state({}, { heals: [heal({ at: ago(ms), endedAt: ago(ms - 1_500) })] })
    expect(found(lost(10 * minute))).toEqual(['warn queue_lost'])
    expect(found(lost(10 * minute + 1))).toEqual([])
    expect(theOne(lost(minute), 'queue_lost').message).toBe(
      'The queue (postgres) was lost 1m ago: its mark was missing, noticed by host:7; 120 hints were back after 1.5s',
    )
    const twice = state({}, { heals: [heal(), heal({ at: ago(5 * minute) }), heal({ at: ago(hour) })] })
    expect(theOne(twice, 'queue_lost').message).toContain('was lost 2 times, last 1m ago')
  })

  test('that is not healed after five minutes is bad while a live worker has the job that is left', () => {
    const open = (ms: number, one: Partial<JobStatus>) =>
      state(one, { heals: [heal({ at: ago(ms), endedAt: null, jobsLeft: 1 })] })
    const healing = { sweep: sweep({ healing: true }) }
    expect(found(open(5 * minute, healing))).toEqual(['warn queue_lost'])
    expect(found(open(5 * minute + 1, healing))).toEqual(['bad heal_late', 'warn queue_lost'])
    expect(found(open(hour, healing))).toEqual(['bad heal_late'])
    expect(found(open(hour, { ...healing, workers: 0 }))).toEqual(['bad no_handler'])
    expect(found(open(hour, {}))).toEqual([])
  })
})

test('claims without a live owner are bad after four leases: freeing takes two at most', () => {
  const dead = (ms: number, more: Partial<State> = {}) => state({ unowned: { count: 2, since: ago(ms) } }, more)
  expect(found(dead(minute))).toEqual([])
  expect(found(dead(minute + 1))).toEqual(['bad claims_unowned'])
  expect(found(dead(minute + 1, { leaseMs: minute }))).toEqual([])
  expect(theOne(dead(2 * minute), 'claims_unowned').hint).toContain('idle in transaction')
})

describe('while no worker is alive', () => {
  const jobs = ['c', 'a', 'b'].map((name) => job({ job: name, workers: 0 }))
  const nobody = (more: Partial<State> = {}) => state({}, { workers: [worker({ live: false })], jobs, ...more })

  test('one finding says so, for all jobs, claims and schedules that wait for a worker', () => {
    expect(found(nobody())).toEqual(['bad no_worker'])
    expect(theOne(nobody(), 'no_worker')).toMatchObject({
      job: null,
      message: 'No worker is alive: 3 jobs stand still (a, b, c)',
      hint: expect.stringContaining('regrow work'),
    })
    const dead = { job: 'd', workers: 0, unowned: { count: 2, since: ago(hour) } }
    const stale = [{ name: 'nightly', job: 'a', why: 'absent', since: ago(hour), endsAt: null } as const]
    expect(found(nobody({ jobs: [...jobs, job(dead)], stale }))).toEqual(['bad no_worker'])
    expect(theOne(nobody({ jobs: [job(dead)] }), 'no_worker').message).toBe(
      'No worker is alive: 1 job stands still (d); 2 claims are left of those that died',
    )
    const seven = [...'gfedcba'].map((name) => job({ job: name, workers: 0 }))
    expect(theOne(nobody({ jobs: seven }), 'no_worker').message).toContain('7 jobs stand still (a, b, c, d, e, …)')
  })

  test('what has other reasons is found as well', () => {
    const failing = job({ job: 'a', workers: 0, quarantined: 1 })
    expect(found(nobody({ jobs: [failing] }))).toEqual(['bad no_worker', 'warn quarantined'])
  })

  test('it is only worth a look when all of them are paused, and nothing when no job was ever swept', () => {
    expect(found(nobody({ jobs: [job({ workers: 0, pause: pause() })] }))).toEqual(['warn no_worker', 'warn paused'])
    expect(found(nobody({ jobs: [job({ workers: 0, sweep: null })] }))).toEqual([])
  })
})

describe('a count of what waits', () => {
  const counted = (ms: number, more: Partial<JobStatus> = {}) =>
    state({ workers: 0, sweep: sweep({ pending: { count: 7, estimated: false, at: ago(ms) } }), ...more })
  const message = (given: State) => theOne(given, 'no_handler').message

  test('carries its age when it is older than two minutes', () => {
    expect(message(counted(2 * minute))).toBe('a: no live worker has its handler; about 7 wait for one')
    expect(message(counted(3 * hour))).toBe(
      'a: no live worker has its handler; 7 waited for one when they were last counted, 3h ago',
    )
    expect(message(counted(3 * hour, { hints: { due: 9, delayed: 0 } }))).toContain('; about 9 wait for one')
    const two = ['a', 'b'].map((name, i) => ({ ...(counted((i + 1) * hour).jobs[0] as JobStatus), job: name }))
    expect(theOne(state({}, { workers: [], jobs: two }), 'no_worker').message).toBe(
      'No worker is alive: 2 jobs stand still (a, b); 14 waited for one when they were last counted, 2h ago',
    )
  })

  test('leaves out what is in quarantine', () => {
    expect(message(counted(minute, { quarantined: 3 }))).toContain('; about 4 wait for one')
    expect(message(counted(minute, { quarantined: 7 }))).toBe('a: no live worker has its handler')
    expect(message(counted(minute, { intents: 9, quarantined: 7 }))).toContain('; about 2 wait for one')
    expect(waitingOf(counted(3 * hour, { quarantined: 3 }).jobs[0] as JobStatus, at)).toEqual({
      ...{ count: 4, estimated: false, at: ago(3 * hour), stale: true },
    })
    expect(waitingOf(job({ sweep: null }), at)).toBeNull()
  })

  test('of a pause and of the longest wait carries its age, too', () => {
    const pending = { count: 300, estimated: false, at: ago(hour) }
    const grows = state({ pause: pause({ backlog: 10 }), sweep: sweep({ pending }) })
    expect(theOne(grows, 'pause_grows').message).toContain('300 were 1h ago, when they were last counted')
    const waits = sweep({ everyMs: hour, oldestAt: ago(4 * hour), lastSuccessAt: ago(2 * hour) })
    expect(theOne(state({ sweep: waits }), 'waiting_long').message).toBe(
      'a: a pending row has waited for 2h at least, by the sweep of 2h ago',
    )
  })
})

describe('a pause', () => {
  const paused = (more: Partial<PauseRow>, pending = 0, estimated = false) =>
    state({ pause: pause(more), sweep: sweep({ pending: { count: pending, estimated, at } }) })

  test('is worth a look from the start', () => {
    expect(found(paused({}))).toEqual(['warn paused'])
    expect(theOne(paused({ until: ago(-minute) }), 'paused').message).toBe(
      'a was paused 1h ago by ann: provider is down, ends in 1m',
    )
  })

  test('is bad after a day, unless it ends by itself', () => {
    expect(found(paused({ since: ago(24 * hour) }))).toEqual(['warn paused'])
    expect(found(paused({ since: ago(24 * hour + 1) }))).toEqual(['bad pause_old'])
    expect(found(paused({ since: ago(24 * hour + 1), until: ago(-hour) }))).toEqual(['warn pause_old'])
  })

  test('is bad when a hundred rows more, and twice as many, are pending', () => {
    expect(found(paused({ backlog: 0 }, 99))).toEqual(['warn paused'])
    expect(found(paused({ backlog: 0 }, 100))).toEqual(['bad pause_grows'])
    expect(found(paused({ backlog: 1_000 }, 1_999))).toEqual(['warn paused'])
    expect(found(paused({ backlog: 1_000 }, 2_000, true))).toEqual(['bad pause_grows'])
    expect(found(paused({ backlog: 50 }, 149))).toEqual(['warn paused'])
    expect(found(paused({ backlog: null }, 5_000))).toEqual(['warn paused'])
    expect(theOne(paused({ backlog: 10 }, 300), 'pause_grows').message).toContain('10 were pending then, 300 are now')
  })

  test('that is both old and growing has both reasons', () => {
    expect(found(paused({ since: ago(48 * hour) }, 500))).toEqual(['bad pause_old', 'bad pause_grows'])
  })
})

test('quarantine, no progress and stuck slots are worth a look', () => {
  expect(found(state({ quarantined: 1 }))).toEqual(['warn quarantined'])
  expect(found(state({ noProgress: 1 }))).toEqual(['warn no_progress'])
  expect(found(state({}, { workers: [worker({ stuck: 1 })] }))).toEqual(['warn slots_stuck'])
  expect(theOne(state({ quarantined: 2 }), 'quarantined').hint).toContain('regrow quarantine list --job a')
})

describe('the oldest pending row', () => {
  test('is told when it had waited for more than an hour at the last turn', () => {
    const waits = (ms: number, more: Partial<JobStatus> = {}) =>
      state({ sweep: sweep({ oldestAt: ago(30 * second + ms), dropped: 4 }), ...more })
    expect(found(waits(hour))).toEqual([])
    expect(found(waits(hour + 1))).toEqual(['warn waiting_long'])
    expect(found(waits(2 * hour, { pause: pause() }))).toEqual(['warn paused'])
    expect(theOne(waits(2 * hour), 'waiting_long').message).toBe(
      'a: a pending row has waited for 2h at least; the queue is full',
    )
  })

  test('is not made older by a sweep that is rare: what it saw may be done since', () => {
    const rare = sweep({ everyMs: 2 * hour, lastSuccessAt: ago(100 * minute), oldestAt: ago(101 * minute) })
    expect(found(state({ sweep: rare }))).toEqual([])
  })
})

describe('a schedule', () => {
  const stale = (why: 'late' | 'missing' | 'absent', more = {}) =>
    state({}, { stale: [{ name: 'report', job: 'report', why, since: ago(5 * minute), endsAt: null, ...more }] })

  test('that stands still is bad: its slot is long due, or none waits', () => {
    expect(found(stale('late'))).toEqual(['bad schedule_late'])
    expect(found(stale('missing'))).toEqual(['bad schedule_late'])
    expect(theOne(stale('late'), 'schedule_late').message).toContain('due 5m ago')
  })

  test('that no live worker has says when it ends by that', () => {
    const absent = stale('absent', { endsAt: new Date(at.getTime() + 6 * 24 * hour) })
    expect(found(absent)).toEqual(['warn schedule_absent'])
    expect(theOne(absent, 'schedule_absent').message).toContain('ends in 6d')
  })
})

test('hints that a full queue did not take are no finding: a backlog is normal', () => {
  const full = sweep({ dropped: 9_000, pending: { count: 5_000_000, estimated: true, at } })
  expect(found(state({ sweep: full, hints: { due: 50_000, delayed: 0 } }))).toEqual([])
})

test('the bad comes first, and each finding says what to do', () => {
  const all = findings(
    state(
      { quarantined: 1, sweep: sweep({ errors: 2, lastError: 'e' }) },
      { queue: { name: 'q', shared: false, down: true, unseen: [] } },
    ),
  )
  expect(all.map(({ code }) => code)).toEqual(['queue_down', 'sweep_failing', 'quarantined'])
  for (const { message, hint } of all) {
    expect(message).not.toContain('\n')
    expect(hint.length).toBeGreaterThan(20)
  }
})

test('what live workers declare and the store does not hold is bad; a worker that has only just started is still declaring', () => {
  const found = (more: Partial<State>, one: Partial<JobStatus> = {}) =>
    findings(state(one, more)).map(({ code, level }) => `${level} ${code}`)
  expect(found({}, { sweep: null })).toEqual(['bad sweep_missing'])
  const young = worker({ startedAt: ago(2 * second) })
  expect(found({ workers: [young] }, { sweep: null })).toEqual([])
  expect(found({ pulse: { missing: true, setBack: null } })).toEqual(['bad pulse_missing'])
  expect(found({ pulse: { missing: true, setBack: null }, workers: [young] })).toEqual([])
  const lost = { name: 's', job: 'a', why: 'undeclared', since: at, endsAt: null } as const
  expect(found({ stale: [lost] })).toEqual(['bad schedule_missing'])
})

test('a clock that was set back is told for ten minutes', () => {
  const pulse = (agoMs: number) => ({ missing: false, setBack: { at: ago(agoMs), byMs: hour } })
  const [finding] = findings(state({}, { pulse: pulse(9 * minute) }))
  expect(finding).toMatchObject({ level: 'warn', code: 'clock_back' })
  expect(finding?.message).toBe("The database's clock was set back by 1h, 9m ago")
  expect(findings(state({}, { pulse: pulse(11 * minute) }))).toEqual([])
})
