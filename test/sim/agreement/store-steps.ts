// What a sequence is made of: plain data, so that fast-check can shrink it. Small numbers stand for things that only the
// sequence itself knows (the third claim, the last turn); store-play.ts resolves them.
import fc from 'fast-check'
import { holders, jobNames, keysOf, queues } from './store-cast.ts'
import { scheduleSteps } from './store-schedules.ts'

/** One step of a sequence. */
export interface Step {
  readonly call: string
  readonly [detail: string]: unknown
}

const holder = fc.constantFrom(...holders)
const appJob = fc.constantFrom('big', 'big', 'pair', 'text')
// Some jobs and keys more often than others: what happens to a key depends on what happened to it before.
const declared = fc.constantFrom('big', 'big', 'mail', 'mail', 'pair', 'text')
const anyJob = fc.constantFrom(...jobNames, 'big', 'big', 'mail')
const queue = fc.constantFrom(...queues)
const someJobs = fc.uniqueArray(anyJob, { maxLength: 4 })
const version = fc.constantFrom(null, 'v1', 'v2')
const count = fc.integer({ min: 0, max: 4 })
/** Which of the things known so far; taken modulo how many there are. */
const which = fc.integer({ min: 0, max: 30 })
const keyIn = (job: string) => {
  const keys = keysOf[job] ?? []
  return fc.constantFrom(...keys, ...keys.slice(0, 2), ...keys.slice(0, 1))
}
const keysIn = (job: string, most = 4) => fc.uniqueArray(keyIn(job), { minLength: 1, maxLength: most })
/** Lengths of time in ms; some are finer than a microsecond, some than a millisecond. */
const wait = fc.oneof(
  fc.constantFrom(0, 1, 499, 500, 501, 1_000, 2_000, 7_500, 15_000, 60_000),
  fc.integer({ min: 0, max: 630_000 }).map((sevenths) => sevenths / 7),
)
const error = fc.constantFrom('broke', 'It ran and returned, but the row is still pending: select', 'é'.repeat(400))

const step = <T extends object>(call: string, shape: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Step> =>
  fc.record(shape).map((detail) => ({ call, ...detail }))

const ofJob = <T extends object>(
  call: string,
  job: fc.Arbitrary<string>,
  shape: (job: string) => { [K in keyof T]: fc.Arbitrary<T[K]> },
): fc.Arbitrary<Step> => job.chain((name) => step(call, { job: fc.constant(name), ...shape(name) }))

const row = fc.record({
  open: fc.boolean(),
  version,
  /** Relative to the time of the put; null: none. */
  inMs: fc.option(
    fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: -5_000, max: 100_000 }) },
      { weight: 1, arbitrary: fc.constantFrom(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) },
    ),
  ),
})

const outcome = fc.record({
  state: fc.constantFrom('done', 'retrying', 'quarantined'),
  version,
  failures: count,
  crashes: count,
  retryMs: wait,
  error: fc.option(error),
  together: fc.constantFrom(undefined, null, 1, 2),
})

const claims = {
  of: fc.array(which, { minLength: 1, maxLength: 4 }),
  /** Somebody else asks, or with another take number. */
  as: fc.option(holder, { freq: 6 }),
  wrong: fc
    .boolean()
    .map((is) => (is ? 1_000 : 0))
    .chain((n) => fc.constantFrom(0, 0, 0, n)),
}

const anyIntents = fc.uniqueArray(
  fc.record({
    id: keyIn('mail'),
    input: fc.constantFrom('{}', '{"bb":1,"a":[1,"x"],"c":null}', '{"to":"\u{1F331}"}'),
    inMs: fc.constantFrom(0, 0, 5_000, 30_000),
    /** Relative to now; null: none. */
    atIn: fc.constantFrom(null, null, -1_000, 20_000),
    uniqueKey: fc.constantFrom(null, null, 'u', 'U'),
    untilStart: fc.boolean(),
    idIsNew: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3, selector: ({ id }) => id },
)
/** Half of them as most are: said to be new, also where that is not so and the store has to notice. */
const intents = fc
  .tuple(anyIntents, fc.boolean())
  .map(([list, plain]) => (plain ? list.map((row) => ({ ...row, uniqueKey: null, idIsNew: true })) : list))

const passing = step('pass', {
  ms: fc.oneof(
    fc.constantFrom(1, 100, 500, 1_000, 2_000, 3_000, 8_000, 16_000, 40_000, 86_400_000),
    fc.integer({ min: 0, max: 20_000_000 }).map((micros) => micros / 1_000),
    // The clock is set back.
    fc.constantFrom(-400, -9_000, -11_000, -30_000, -3_600_000),
  ),
})

const living = [
  step('workers.register', { holder, jobs: someJobs, lease: fc.constantFrom(1, 1, 1, 0.2, 4) }),
  step('workers.beat', { holder, known: fc.constantFrom('all', 'none', 'half'), behind: count, stuck: count }),
  step('workers.free', { all: fc.constantFrom(false, false, true) }),
  step('workers.leave', { holder }),
  step('others live', { dead: fc.option(holder, { freq: 5 }), rounds: fc.integer({ min: 1, max: 5 }) }),
]

/** Waits for every open transaction that has read the table. */
const emptied = step('emptied', {
  table: fc.constantFrom('sweeps', 'pulse', 'workers', 'schedules', 'slots', 'marks', 'pauses'),
})

const claiming = [
  ofJob('ledger.take', anyJob, (job) => ({ holder, keys: keysIn(job), suspects: fc.constantFrom(false, false, true) })),
  ofJob('ledger.take', declared, (job) => ({ holder, keys: keysIn(job), suspects: fc.constant(false) })),
  ofJob('take alone', declared, (job) => ({ holder, keys: keysIn(job, 1) })),
  step('ledger.alone', { of: which, as: fc.option(holder, { freq: 6 }) }),
  step('ledger.release', claims),
  step('ledger.settle', { ...claims, outcome }),
  ofJob('ledger.clear', anyJob, (job) => ({ keys: keysIn(job), version: fc.constantFrom('v1', 'v2') })),
  ofJob('ledger.remember', anyJob, (job) => ({ keys: keysIn(job), outcome })),
  ofJob('ledger.standing', anyJob, (job) => ({ keys: keysIn(job) })),
  step('crash', { wait }),
]

/** Several calls that belong together: by chance alone their ends are hardly ever reached. */
const stories = [
  ofJob('crash together', declared, (job) => ({ holder, keys: keysIn(job), times: fc.integer({ min: 1, max: 3 }) })),
  ofJob('crash alone', declared, (job) => ({
    holder,
    keys: keysIn(job, 1),
    /** It is a suspect after two crashes with others. */
    together: fc.constantFrom(0, 2, 2),
    times: fc.constantFrom(1, 3, 3),
    /** Whether it begins its run before the crash. */
    begins: fc.constantFrom(true, true, false),
  })),
  ofJob('quarantine', fc.constantFrom('mail', 'big', 'big'), (job) => ({
    holder,
    keys: keysIn(job),
    version: fc.constantFrom('v1', 'v2', 'v2'),
  })),
  step('quarantine and drop', {
    holder,
    keys: fc.shuffledSubarray([...(keysOf.mail ?? [])], { minLength: 2 }),
    recorded: fc.constantFrom(1, 4, 4),
  }),
  step('quarantine and yield', {
    holder,
    keys: fc.shuffledSubarray([...(keysOf.mail ?? [])], { minLength: 2 }),
    /** The last one is that of what a schedule hands over. */
    uniqueKey: fc.constantFrom('u', 'U', 'schedule hand', 'schedule hand'),
    quarantined: fc.constantFrom(0, 1, 1),
  }),
  step('start unique', {
    holder,
    keys: fc.shuffledSubarray([...(keysOf.mail ?? [])], { minLength: 2 }),
    uniqueKey: fc.constantFrom('u', 'U'),
    /** How many of them are claimed, and which are asked for: mostly what is claimed. */
    claimed: fc.integer({ min: 0, max: 2 }),
    asked: fc.constantFrom(1, 1, 2, 2),
    records: fc.integer({ min: 1, max: 3 }),
  }),
  ofJob('lost in a pass', declared, (job) => ({ holder, cursor: keyIn(job), queue })),
  ofJob('lost reply', declared, (job) => ({ holder, keys: keysIn(job) })),
  ofJob('pause for a while', declared, (job) => ({ holder, keys: keysIn(job), forMs: wait, afterMs: wait })),
]

const turnEnd = fc.record({
  nextMs: wait,
  error: fc.option(error, { freq: 3 }),
  seen: count,
  passed: fc.constantFrom(undefined, 0, 1),
  everyMs: fc.constantFrom(undefined, 5_000, 60_000),
  pushed: count,
  held: count,
  tookMs: wait,
  counted: fc.constantFrom(undefined, 0, 1),
  dropped: fc.constantFrom(undefined, 0, 2),
  finished: fc.constantFrom(undefined, false, true),
  broughtBack: fc.constantFrom(undefined, false, true, true),
  estimate: fc.constantFrom(undefined, null, 0, 100),
  oldestMs: fc.oneof(fc.constantFrom(undefined, null), wait),
  sample: fc.constantFrom(undefined, {}, { bb: 1_767_225_600_000, a: 1_767_225_600_000.125, 10: 5 }),
  audited: fc.constantFrom(undefined, true),
  unusable: fc.constantFrom(undefined, null, { count: 2, key: 'long' }, { count: 1, key: 'longer' }),
})

const sweeping = [
  step('sweeps.declare', {
    jobs: someJobs,
    everyMs: wait,
    fingerprint: fc.constantFrom(undefined, 'one', 'two'),
    holder: fc.option(holder, { nil: undefined }),
    due: fc.constantFrom(false, false, true),
  }),
  step('sweeps.turn', { holder, jobs: someJobs, max: count.map((n) => n + 1) }),
  ofJob('sweeps.advance', declared, (job) => ({
    of: which,
    cursor: fc.option(keyIn(job)),
    pushed: fc.constantFrom(undefined, 0, 3),
    wrong: fc.boolean(),
  })),
  ofJob('sweeps.end', declared, (job) => ({
    of: which,
    cursor: fc.option(keyIn(job)),
    end: turnEnd,
    wrong: fc.constantFrom(false, false, false, true),
  })),
  step('sweeps.makeDue', { jobs: someJobs, anew: fc.constantFrom(undefined, false, true) }),
  ofJob('sweeps.noProgress', anyJob, () => ({ count })),
  step('marks.look', { queue, everyMs: fc.constantFrom(0, 1_000) }),
  step('marks.raise', { queue, epoch: count, sequence: fc.integer({ min: 0, max: 9 }) }),
  step('marks.lose', {
    queue,
    epoch: count,
    found: fc.option(fc.oneof(count, fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 53))),
    how: fc.constantFrom('missing', 'foreign', 'behind'),
    apartMs: fc.constantFrom(0, 500, 2_000),
  }),
  step('lose now', { queue }),
  step('whole pass', { holder, end: turnEnd }),
]

const auditing = [
  ofJob('audits.page', anyJob, (job) => ({ after: fc.option(keyIn(job)), limit: fc.integer({ min: 1, max: 4 }) })),
  ofJob('audits.write', anyJob, (job) => ({
    keys: keysIn(job),
    words: fc.array(fc.constantFrom('forget', 'unseen', 'seen'), { minLength: 4, maxLength: 4 }),
  })),
]

const asking = [
  step('status.jobs', {}),
  step('status.workers', {}),
  step('status.heals', { limit: count }),
  ofJob('status.names', anyJob, () => ({})),
  ofJob('quarantine.list', fc.oneof(fc.constant(''), anyJob), () => ({
    after: fc.option(anyJob.chain((job) => fc.record({ job: fc.constant(job), key: keyIn(job) }))),
    limit: fc.integer({ min: 1, max: 4 }),
  })),
  ofJob('quarantine.find', anyJob, (job) => ({ key: keyIn(job) })),
  ofJob('quarantine.release', anyJob, (job) => ({ keys: keysIn(job) })),
  ofJob('quarantine.drop', fc.constantFrom('mail', 'mail', 'text'), (job) => ({ keys: keysIn(job) })),
  ofJob('pauses.pause', anyJob, () => ({ forMs: fc.option(wait), reason: fc.constantFrom('r', 's') })),
  ofJob('pauses.resume', anyJob, () => ({})),
  ofJob('pauses.end', anyJob, () => ({})),
  step('pauses.list', {}),
]

const reading = [
  ofJob('source.page', declared, (job) => ({
    after: fc.option(keyIn(job)),
    limit: fc.integer({ min: 1, max: 5 }),
    horizonMs: wait,
  })),
  ofJob('source.check', declared, (job) => ({ keys: keysIn(job) })),
  step('source.check', { job: fc.constant('big'), keys: fc.constantFrom(['007', '9'], [' 9 '], ['+10', '9']) }),
]

const writing = [
  ofJob('app.put', appJob, (job) => ({ key: keyIn(job), row })),
  ofJob('app.remove', appJob, (job) => ({ key: keyIn(job) })),
  ofJob('app.get', appJob, (job) => ({ key: keyIn(job) })),
  ofJob('app.lock', appJob, (job) => ({ key: keyIn(job) })),
  ofJob('intents.record', fc.constantFrom('mail', 'mail', 'unknown'), () => ({ intents })),
]

/** What may be called beside an open transaction: it never waits for a lock. */
const beside = fc.oneof(...living, ...reading, passing, step('status.jobs', {}))

const inside = fc.oneof(
  { weight: 3, arbitrary: fc.oneof(...writing) },
  { weight: 3, arbitrary: step('ledger.settle', { ...claims, outcome }) },
  { weight: 1, arbitrary: step('ledger.fence', claims) },
  { weight: 2, arbitrary: beside.map((of) => ({ call: 'beside', of })) },
)

/** What waits for the rows of an open transaction, and goes on at its end. */
const waiting = fc.oneof(
  ...writing,
  ...claiming.slice(0, 2),
  step('ledger.alone', { of: which, as: fc.constant(null) }),
  step('ledger.release', claims),
  step('ledger.settle', { ...claims, outcome }),
  ofJob('ledger.remember', anyJob, (job) => ({ keys: keysIn(job), outcome })),
  ofJob('quarantine.drop', fc.constant('mail'), (job) => ({ keys: keysIn(job) })),
)

const transaction = step('transaction', {
  steps: fc.array(inside, { maxLength: 5 }),
  /** Called as the last thing before the end, and answered after it. */
  waiting: fc.option(waiting, { freq: 2 }),
  end: fc.constantFrom('commit', 'commit', 'throw'),
})

/** A claim, a transaction that has its row, and somebody who wants it meanwhile. */
const contended = declared.chain((job) => {
  const newest = { of: fc.subarray([0, 1, 2], { minLength: 1 }), as: fc.constant(null), wrong: fc.constant(0) }
  const keys = { job: fc.constant(job), keys: keysIn(job) }
  const late = fc.oneof(
    step('ledger.take', { ...keys, holder, suspects: fc.boolean() }),
    step('ledger.release', newest),
    step('ledger.settle', { ...newest, outcome }),
    step('ledger.alone', { of: fc.constant(0), as: fc.constant(null) }),
    step('ledger.remember', { ...keys, outcome }),
    step('intents.record', { job: fc.constant('mail'), intents }),
  )
  const held = fc.oneof(step('ledger.settle', { ...newest, outcome }), step('ledger.fence', newest))
  const wanted = step('transaction', {
    steps: fc.tuple(held, ...(job === 'mail' ? [step('intents.record', { job: fc.constant('mail'), intents })] : [])),
    waiting: late,
    end: fc.constantFrom('commit', 'commit', 'throw'),
  })
  return fc.record({
    call: fc.constant('in a row'),
    steps: fc.tuple(step('ledger.take', { ...keys, holder, suspects: fc.constant(false) }), wanted),
  })
})

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: passing },
    { weight: 5, arbitrary: fc.oneof(...living, emptied) },
    { weight: 12, arbitrary: fc.oneof(...claiming) },
    { weight: 3, arbitrary: fc.oneof(...stories) },
    { weight: 10, arbitrary: fc.oneof(...sweeping) },
    { weight: 2, arbitrary: fc.oneof(...auditing) },
    { weight: 6, arbitrary: fc.oneof(...asking) },
    { weight: 5, arbitrary: fc.oneof(...reading) },
    { weight: 6, arbitrary: fc.oneof(...writing) },
    { weight: 3, arbitrary: transaction },
    { weight: 2, arbitrary: contended },
    { weight: 14, arbitrary: fc.oneof(...scheduleSteps) },
  ),
  { minLength: 1, maxLength: 60, size: 'max' },
)

/** A whole sequence; without a bias, which would make most of them short. */
export const sequence: fc.Arbitrary<Step[]> = fc.noBias(steps)
