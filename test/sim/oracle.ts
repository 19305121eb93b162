// Knows what is true, and looks after every step whether what must never happen has happened. It hears what processes send
// and hear, what the store commits, and when handlers start and end; docs/invariants.md says what S1 … mean.
import { backoffMs, type RetryPolicy } from '../../src/job/outcome.ts'
import type { Claim, TakeAnswer } from '../../src/store/ledger.ts'
import { type Deed, type Part, partOf } from './cast.ts'
import { recurringPartOf } from './recurring.ts'
import type { SimProcess } from './sim-process.ts'
import type { Change } from './store/engine.ts'
import type { LedgerRow, MarkRow, SweepRow } from './store/schema.ts'
import type { InvariantName, Tally } from './tally.ts'
import type { Trace } from './trace.ts'
import type { StoreEar } from './wired-store.ts'

/** Something happened that must never happen. */
export interface Violation {
  readonly invariant: InvariantName
  readonly what: string
  readonly atMs: number
}

/** A claim as its process knows it. */
interface Grant {
  readonly holder: string
  readonly take: number
  /** What was true when its check was executed; undefined: no check came back since the take did. */
  checked: { pending: boolean; paused: boolean } | undefined
  started: boolean
}

/** What is remembered of one key. */
interface KeyStory {
  starts: number
  /** Starts that ended without being counted: given back, freed as a crash, or undone by a restart of the store. */
  excused: number
  /** Starts since the last success, new version or release. */
  since: number
  /** What its handler was to do when it last started. */
  deed: Deed | undefined
}

export const policy: RetryPolicy = { attemptsMax: 5, backoff: 'exponential', backoffMs: 1_000, backoffMaxMs: 4_000 }

export interface OracleSurroundings {
  readonly now: () => number
  /** The store's clock, in epoch ms. */
  readonly storeMs: () => number
  readonly tally: Tally
  readonly trace: Trace
  /** Whether a key is pending now, and its job paused; undefined: this store cannot be asked. */
  readonly truth: ((job: string, key: string) => { pending: boolean; paused: boolean }) | undefined
  readonly jobsOf: (process: SimProcess) => readonly string[]
  readonly deedOf: (job: string, key: string) => Deed | undefined
  /** Looks at a start when it has begun; see starts.ts. */
  readonly began: (process: SimProcess, part: Part, key: string, claim: Grant | undefined) => void
}

/** By more a time is told to be of a clock that was ahead, and how long a turn lasts. */
const [slackMs, turnMs] = [10_000, 30_000]

const id = (job: string, key: string) => `${job}\u0000${key}`

export class Oracle implements StoreEar {
  readonly violations: Violation[] = []
  readonly #around: OracleSurroundings
  readonly #grants = new Map<SimProcess, Map<string, Grant>>()
  readonly #takes = new Set<string>()
  readonly #keys = new Map<string, KeyStory>()
  /** Claims whose handler has started and that nobody has ended. */
  readonly #claims = new Map<string, string>()
  readonly #effects = new Map<string, number>()
  readonly #recorded = new Map<string, number>()
  /** Hints that somebody else put into the queue, or that came back from an old copy. */
  readonly #tampered = new Set<string>()
  readonly #foreign = new Set<string>()
  /** Jobs that were paused at some time. */
  readonly #paused = new Set<string>()
  /** Handlers that run now, by process. */
  readonly running = new Map<SimProcess, Map<string, number>>()
  starts = 0

  constructor(around: OracleSurroundings) {
    this.#around = around
  }

  /** Says whether an invariant holds on a state where it could fail. */
  check(invariant: InvariantName, holds: boolean, what: () => string): void {
    this.#around.tally.check(invariant)
    this.#assert(invariant, holds, what)
  }

  #assert(invariant: InvariantName, holds: boolean, what: () => string): void {
    if (holds) return
    const violation = { invariant, what: what(), atMs: this.#around.now() }
    this.violations.push(violation)
    this.#around.trace.tell('ORACLE', `${invariant} is broken`, () => violation.what)
  }

  // What processes say and hear.

  sent(process: SimProcess, name: string, args: readonly unknown[]): void {
    if (name !== 'ledger.take') return
    const [holder, claims] = args as [string, readonly Claim[]]
    const known = this.#around.jobsOf(process)
    for (const { job, key, take } of claims) {
      this.check('S15', known.includes(job), () => `${process.name} takes ${key} of ${job}, which it has no handler of`)
      const number = `${holder}/${take}`
      this.check('S3', !this.#takes.has(number), () => `take number ${take} of ${holder} is used twice`)
      this.#takes.add(number)
    }
    const distinct = new Set(claims.map(({ job, key }) => id(job, key)))
    if (claims.length > 1)
      this.check('S12', distinct.size === claims.length, () => `one take names a key twice: ${JSON.stringify(claims)}`)
  }

  arrives(_: SimProcess, name: string, args: readonly unknown[]): unknown {
    const job = checkedJob(name)
    if (!job || !this.#around.truth) return undefined
    const { truth } = this.#around
    return new Map((args[0] as readonly string[]).map((key) => [key, truth(job, key)]))
  }

  heard(process: SimProcess, name: string, args: readonly unknown[], answer: unknown, noted: unknown): void {
    if (name === 'ledger.take') {
      for (const { job, key, verdict } of answer as readonly TakeAnswer[]) {
        const [holder, claims] = args as [string, readonly Claim[]]
        const take = claims.find((claim) => claim.job === job && claim.key === key)?.take as number
        if (verdict === 'taken')
          this.#grantsOf(process).set(id(job, key), { holder, take, checked: undefined, started: false })
      }
      return
    }
    const job = checkedJob(name)
    if (!job) return
    const { pending, paused } = answer as { pending: ReadonlyMap<string, unknown>; paused: boolean }
    for (const key of args[0] as readonly string[]) {
      const grant = this.#grantsOf(process).get(id(job, key))
      const truth = (noted as Map<string, { pending: boolean; paused: boolean }> | undefined)?.get(key)
      if (grant) grant.checked = truth ?? { pending: pending.has(key), paused }
    }
  }

  #grantsOf(process: SimProcess): Map<string, Grant> {
    const known = this.#grants.get(process)
    if (known) return known
    const made = new Map<string, Grant>()
    this.#grants.set(process, made)
    return made
  }

  // Handlers.

  started(process: SimProcess, part: Part, key: string): void {
    const { name: job } = part
    const which = () => `${process.name} starts ${key} of ${job}`
    if (!part.recurs) this.starts++
    this.#around.trace.tell(process.name, 'start', () => `${job} ${key}`)
    const grant = this.#grantsOf(process).get(id(job, key))
    this.check('S2', grant?.checked?.pending === true, () =>
      grant?.checked
        ? `${which()}, which was not pending at its check`
        : `${which()} without a take and a check after it`,
    )
    this.check('S5', grant?.started === false, () => `${which()} a second time under one take`)
    if (this.#paused.has(job))
      this.check('S8', grant?.checked?.paused !== true, () => `${which()}, and the job was paused when its check began`)
    if (grant) grant.started = true
    if (this.#tampered.has(id(job, key))) this.#around.tally.check('S1')
    this.#assert('S13', !this.#foreign.has(id(job, key)), () => `${which()}: that hint is somebody else's`)
    this.#assert('S15', this.#around.jobsOf(process).includes(job), () => `${which()} without its handler`)
    const odd = part.keys.find((each) => each.text === key)?.odd
    if (odd) this.#around.tally.check('S14')
    this.#assert('S14', this.#around.deedOf(job, key) !== undefined, () => `${which()}: nobody ever wrote that key`)
    if (grant) this.#claims.set(`${grant.holder}/${grant.take}`, id(job, key))
    const story = this.story(job, key)
    story.starts++
    story.since++
    story.deed = this.#around.deedOf(job, key)
    this.#assertAttempts(story, which)
    const running = this.running.get(process) ?? new Map<string, number>()
    this.running.set(process, running)
    running.set(id(job, key), (running.get(id(job, key)) ?? 0) + 1)
    this.#around.began(process, part, key, grant)
  }

  ended(process: SimProcess, job: string, key: string): void {
    const running = this.running.get(process)
    const count = running?.get(id(job, key)) ?? 0
    if (count > 1) running?.set(id(job, key), count - 1)
    else running?.delete(id(job, key))
  }

  /** True when the claim that the process has of that key is the one in the ledger. */
  holds(process: SimProcess, job: string, key: string, row: LedgerRow | undefined): boolean {
    const grant = this.#grants.get(process)?.get(id(job, key))
    return grant !== undefined && row?.holder === grant.holder && row.take === grant.take
  }

  /** True while a handler of that key runs somewhere. */
  isRunning(job: string, key: string): boolean {
    return [...this.running].some(([process, keys]) => process.state !== 'dead' && keys.has(id(job, key)))
  }

  #assertAttempts(story: KeyStory, which: () => string): void {
    if (story.since < 2) return
    const most = policy.attemptsMax + 1 + story.excused
    this.check('S6', story.since <= most, () => `${which()} for the ${story.since}th time; ${most} is the most`)
  }

  story(job: string, key: string): KeyStory {
    const known = this.#keys.get(id(job, key))
    if (known) return known
    const made: KeyStory = { starts: 0, excused: 0, since: 0, deed: undefined }
    this.#keys.set(id(job, key), made)
    return made
  }

  // What the store commits.

  readonly committed = (change: Change): void => {
    const { table, before, after, statement } = change
    if (table === 'ledger') this.#ledger(before as LedgerRow | undefined, after as LedgerRow | undefined, statement)
    else if (table === 'effects') this.#effect(change.id)
    else if (table === 'marks') this.#mark(before as MarkRow | undefined, after as MarkRow | undefined, statement)
    else if (table === 'sweeps') this.#sweep(before as SweepRow | undefined, after as SweepRow | undefined, statement)
    else if (table === 'intents' && !before && after)
      this.#recorded.set(change.id, (this.#recorded.get(change.id) ?? 0) + 1)
    else if (table === 'pauses' && after) this.#paused.add(change.id)
  }

  #ledger(before: LedgerRow | undefined, after: LedgerRow | undefined, statement: string): void {
    const { job, key } = (after ?? before) as LedgerRow
    const nowMs = this.#around.storeMs()
    const story = this.story(job, key)
    const held = before?.holder ?? null
    const holds = after?.holder ?? null
    if (held !== null && (held !== holds || before?.take !== after?.take)) {
      this.#assert(
        'S2',
        holds === null || statement === 'restart',
        () => `${job} ${key} is taken from ${held} by ${holds}`,
      )
      const started = this.#claims.delete(`${held}/${before?.take}`)
      const settled = statement === 'ledger.settle' || statement === 'transaction'
      // Given back, freed, or ended by the store's own fault: nobody's failure.
      const nobodys = !settled || (after?.state === 'retrying' && after.failures === before?.failures)
      if (started && nobodys) story.excused++
      // L9: ended by a store that was away, and not counted.
      if (started && nobodys && settled) this.#around.tally.check('L9')
    }
    if (statement === 'restart') return
    if (holds !== null && held === null && before?.retryAt) {
      const early = () => `${job} ${key} is taken ${(before.retryAt as number) - nowMs} ms before its back-off is over`
      // What a clock wrote that is set back since has waited.
      const ahead = before.updatedAt > nowMs + slackMs
      this.check('S7', ahead || nowMs >= before.retryAt - 1, early)
    }
    if (!after || statement === 'quarantine.release' || statement === 'ledger.clear') {
      // Done, new work, or made new by a person.
      story.since = holds === null ? 0 : story.since
      story.excused = 0
    }
    if (after?.version && before?.version && after.version !== before.version) {
      // The first outcome of a new version, which nobody had to clear.
      story.since = 1
      story.excused = 0
    }
    // No progress: the success has deleted the row, and the run's failures are counted on.
    if (after && before && after.failures > before.failures)
      this.#failed(isNoProgress(after) ? { ...before, failures: after.failures - 1 } : before, after, nowMs)
  }

  #failed(before: LedgerRow, after: LedgerRow, nowMs: number): void {
    const { job, key, failures } = after
    const { deed } = this.story(job, key)
    const part = partOf.get(job) ?? recurringPartOf(job)
    // L9: what the store or the network does to a run is nobody's failure. A handler of many fails with its neighbours, and
    // one that writes over a connection of its own may fail by itself.
    if (part && !part.many && part.transacts && healthy.has(deed))
      this.check('L9', false, () => `healthy ${job} ${key} has failed: ${after.error?.slice(0, 200)}`)
    this.check(
      'S5',
      failures === before.failures + 1,
      () => `${job} ${key} has ${failures} failures after ${before.failures}`,
    )
    const least = backoffMs(policy, failures, { float: () => 0 })
    const wait = (after.retryAt ?? nowMs) - nowMs
    if (after.state === 'retrying' && !isNoProgress(after))
      this.check(
        'S7',
        wait >= least - 1,
        () => `${job} ${key} waits ${wait} ms after failure ${failures}, not ${least}`,
      )
  }

  #effect(effect: string): void {
    const [job, key, generation] = effect.split('|') as [string, string, string]
    const which = `${job}|${key}|${generation}`
    const count = (this.#effects.get(which) ?? 0) + 1
    this.#effects.set(which, count)
    // A call that was repeated after its intent was done has made another intent.
    const most = this.#recorded.get(key) ?? 1
    if (this.story(job, key).starts > 1) this.#around.tally.check('S4')
    this.#assert('S4', count <= most, () => `${job} ${key}, generation ${generation}: ${count} effects`)
  }

  #mark(before: MarkRow | undefined, after: MarkRow | undefined, statement: string): void {
    if (!before || !after || statement === 'restart') return
    const grows = after.epoch > before.epoch || (after.epoch === before.epoch && after.sequence >= before.sequence)
    this.check('S17', grows, () => `the mark falls from ${JSON.stringify(before)} to ${JSON.stringify(after)}`)
  }

  #sweep(before: SweepRow | undefined, after: SweepRow | undefined, statement: string): void {
    if (!after?.holder || after.holder === before?.holder || statement === 'restart') return
    const nowMs = this.#around.storeMs()
    const until = before?.until ?? 0
    // A turn that reaches further ahead than it may is of a clock that is set back since. A new declaration takes the turn away, as
    // a loss does: the pass under way is one of the old query.
    const isOver = until <= nowMs || until > nowMs + turnMs + slackMs
    const free = !before?.holder || isOver || statement === 'sweeps.declare'
    this.check(
      'S10',
      free && after.term > (before?.term ?? 0),
      () => `two have the turn of ${after.job}: ${JSON.stringify(before)}`,
    )
  }

  /** Effects so far of one generation of a key. */
  effects(job: string, key: string, generation: number): number {
    return this.#effects.get(`${job}|${key}|${generation}`) ?? 0
  }

  // What happens to the queue.

  tampered(hints: readonly { job: string; key: string }[], { foreign = false } = {}): void {
    for (const { job, key } of hints) {
      this.#tampered.add(id(job, key))
      if (foreign) this.#foreign.add(id(job, key))
    }
  }

  pushed(hints: readonly { job: string; key: string }[]): void {
    if (hints.length < 2) return
    const distinct = new Set(hints.map(({ job, key }) => id(job, key)))
    this.check('S12', distinct.size === hints.length, () => `one push names a key twice: ${JSON.stringify(hints)}`)
  }

  popped(process: SimProcess, hints: readonly { job: string; key: string }[]): void {
    for (const { job, key } of hints) {
      if (this.#foreign.has(id(job, key))) this.#around.tally.check('S13')
      if (this.#tampered.has(id(job, key))) this.#around.tally.check('S1')
      this.check('S15', this.#around.jobsOf(process).includes(job), () => `${process.name} pops a hint of ${job}`)
    }
  }

  /** Keys of a job whose handler has started under the claim that the ledger holds. */
  runningClaims(job: string): string[] {
    return [...this.#claims.values()].flatMap((key) =>
      key.startsWith(`${job}\u0000`) ? [key.slice(job.length + 1)] : [],
    )
  }

  /** Claims of these jobs whose handler started and whose end was never recorded. */
  openClaims(jobs: readonly string[]): string[] {
    const ours = [...this.#claims].filter(([, key]) => jobs.includes(key.split('\u0000')[0] as string))
    return ours.map(([claim, key]) => `${claim} of ${key.replace('\u0000', ' ')}`)
  }
}

/** What never fails by itself. */
const healthy: ReadonlySet<Deed | undefined> = new Set<Deed>(['ok', 'slow', 'forgets'])

/** A run that succeeded, and left its row pending. */
const isNoProgress = ({ error }: LedgerRow) => error?.startsWith('It ran and returned') === true

/** The job whose check this call is; null: it is another call. */
function checkedJob(name: string): string | null {
  return name.startsWith('source(') && name.endsWith(').check') ? name.slice('source('.length, -').check'.length) : null
}
