// After the storm: a random part of the fleet lives on and everything else is dead for ever. What must follow, follows (L1 …):
// all work is done as if nothing had happened, the queue falls silent, and single losses are repaired within their bounds.
import { operate } from '../../src/operate/index.ts'
import { cast, finishing, type Part, partOf } from './cast.ts'
import { examinations } from './examinations.ts'
import { emptied, examineRecurring } from './examinations-recurring.ts'
import type { Member } from './fleet.ts'
import { beginningMs } from './sim-process.ts'
import type { Storm } from './storm.ts'
import { checkDeclared } from './upsets.ts'
import type { Standing } from './user.ts'
import type { SimWorld } from './world.ts'

/** By then everything is done, whatever the storm left behind. */
const patienceMs = 300_000
/** A call that has no answer keeps its loop for so long. */
const deadlineMs = 31_000
/** What was on its way when its sender died has arrived after so long, where nothing is late. */
const arrivedMs = 10
/** What is to run again after this waits for years. */
const farMs = beginningMs + 50 * 365 * 86_400_000
/** A turn that gives no sign is anybody's after so long. */
const turnMs = 30_000

export class Calm {
  /** Who lives on. */
  core: Member[] = []
  readonly #world: SimWorld
  readonly #storm: Storm
  #since = 0
  #deadHeld = 0

  constructor(world: SimWorld, storm: Storm) {
    this.#world = world
    this.#storm = storm
  }

  /** The jobs that somebody who lives has a handler of. */
  jobs: readonly string[] = []

  /** Chooses who survives, waits until all work is done, and until nothing happens any more. */
  async settle(): Promise<void> {
    const { kernel, oracle, plan, trace } = this.#world
    this.#choose()
    this.#world.calm = true
    this.#since = kernel.now()
    trace.tell('CALM', 'faults stop', () => `${this.core.map(({ process }) => process.name).join(' ')} live on`)
    const broken = () => oracle.violations.length > 0
    if (this.#deadHeld > 0) {
      const boundMs = 2 * plan.leaseMs + 1.1 * plan.sweepMs + deadlineMs
      kernel.after(boundMs, () => this.#checkClaims())
    }
    const unfinished = () => this.unfinished()
    // What was sent in the storm may still bring work, and have a turn for as long as it is late. The take of one that died as
    // it sent it makes a claim, too: it is freed, and its key hinted, a lease after that.
    let next = this.#since + (plan.weather.slow > 0 ? deadlineMs : arrivedMs)
    const done = await kernel.run(() => {
      if (broken()) return true
      if (kernel.now() < next) return false
      // Not after every event: it reads all rows.
      next = kernel.now() + 100
      this.#release()
      return unfinished().length === 0
    }, patienceMs)
    if (broken()) return
    oracle.check('L1', done, () => `not done ${patienceMs} ms after the storm: ${unfinished().slice(0, 6).join('; ')}`)
    if (done) await this.quiet(broken)
  }

  /** A few last tests, each of one thing that must happen soon. */
  async examine(): Promise<void> {
    const { draw, oracle } = this.#world
    const chosen = examinations.filter(() => draw.chance(0.25))
    await examineRecurring(this.#world)
    for (const examine of chosen) {
      if (oracle.violations.length > 0) return
      await examine(this.#world, this)
    }
    if (oracle.violations.length === 0) await this.#loops()
    if (oracle.violations.length === 0) await emptied(this.#world)
  }

  /** Rows, effects and quarantine as they are now, of jobs that somebody has a handler of. */
  ending(): string {
    const { db, user, oracle } = this.#world
    const lines = [...user.standing].flatMap(([id, { generation, removed, unique }]) => {
      const [job, key] = id.split('\u0000') as [string, string]
      const part = partOf.get(job) as Part
      // Which inputs of one text are merged depends on when each of them starts.
      if (removed || unique || !this.jobs.includes(job)) return []
      const state = part.input ? (db.intents.has(key) ? 'waits' : 'done') : db.rows(part.table).get(key)?.state
      const effects = part.transacts ? Math.min(1, oracle.effects(job, key, generation)) : '-'
      const quarantined = db.ledger.get(id)?.state === 'quarantined' ? ' quarantined' : ''
      return [`${job} ${key}\t${part.input ? 1 : generation} ${state} ${effects}${quarantined}`]
    })
    return lines.sort().join('\n')
  }

  #choose(): void {
    const { fleet, draw, db } = this.#world
    const working = fleet.working()
    // Mostly few: whoever lives makes the calm longer to play, and adds little.
    const survivors = working.filter(() => draw.chance(0.6)).slice(0, draw.chance(0.8) ? 2 : working.length)
    this.core =
      survivors.length > 0
        ? survivors
        : working.length > 0
          ? [draw.of(working)]
          : [fleet.start(cast.map(({ name }) => name))]
    fleet.closed = true
    this.jobs = [...partOf.keys()].filter((job) => this.core.some(({ jobs }) => jobs.includes(job)))
    for (const member of fleet.members)
      if (member.worker && !this.core.includes(member)) fleet.crash(member, null)
      else member.process.thaw()
    this.#deadHeld = [...db.ledger.values()].filter(({ holder }) => holder !== null).length
  }

  /** What is not yet as it has to be in the end. */
  unfinished(): string[] {
    const { user, db } = this.#world
    const left = [...user.standing].flatMap(([id, standing]) => {
      const [job, key] = id.split('\u0000') as [string, string]
      return this.jobs.includes(job) && !standing.removed && !this.#isFinished(job, key, id, standing)
        ? [`${job} ${key} (${standing.deed}): ${JSON.stringify(db.ledger.get(id))}`]
        : []
    })
    if (user.busy > 0) left.push(`${user.busy} acts of the users`)
    if (this.#storm.busy > 0) left.push(`${this.#storm.busy} acts of the operators`)
    const held = [...db.ledger.values()].filter(({ holder, job }) => holder !== null && this.jobs.includes(job))
    if (held.length > 0) left.push(`claims that are held: ${JSON.stringify(held[0])}`)
    return left
  }

  #isFinished(job: string, key: string, id: string, { deed, generation, merged }: Standing): boolean {
    const { db, oracle } = this.#world
    const part = partOf.get(job) as Part
    const kept = db.ledger.get(id)
    // Unless a call whose answer was lost has recorded it. Who died as it asked for what is not there leaves a crash, for the audit.
    const isCrash = kept?.holder === null && kept.state === 'retrying' && kept.failures === 0
    if (merged && (!kept || isCrash) && !db.intents.has(key)) return true
    if (deed === 'far') return kept?.state === 'retrying' && kept.failures === 0 && (kept.retryAt ?? 0) > farMs
    if (!finishing.includes(deed)) return kept?.state === 'quarantined'
    // A row that only remembers a crash is for the audit: its claim came late, for one that was dead already.
    if (kept && (kept.holder !== null || kept.state === 'quarantined')) return false
    if (part.input) return !db.intents.has(key) && oracle.effects(job, key, 1) > 0
    const row = db.rows(part.table).get(key)
    return (
      row?.state === 'done' &&
      row.generation === generation &&
      (!part.transacts || oracle.effects(job, key, generation) > 0)
    )
  }

  /** What a person would do: keys that are in quarantine though nothing is wrong with them. */
  #release(): void {
    const { db, user, oracle } = this.#world
    for (const [id, { deed, removed, generation }] of user.standing) {
      const [job, key] = id.split('\u0000') as [string, string]
      const kept = db.ledger.get(id)
      if (kept?.state !== 'quarantined' || removed || !finishing.includes(deed)) continue
      const part = partOf.get(job) as Part
      // What was quarantined is an older version: the next sweep makes it new.
      if (part.versioned && kept.version !== null && kept.version !== String(generation)) continue
      // It ran alone in three processes that died, of what the storm did to them; or failed by a connection of its own; or with
      // its neighbours, and then by itself in its last attempt (M36).
      const blameless = kept.soloCrashes >= 3 || !part.transacts || (part.many && deed === 'fails twice')
      oracle.check('L9', blameless, () => `${job} ${key} is quarantined, and nothing is wrong with it: ${kept.error}`)
      if (blameless) void user.operate((app) => operate(app).quarantine.release(job, key))
    }
  }

  /** L1: nothing is pushed and nothing starts for three sweeps, or as many as that; L2: though every sweep was made. */
  async quiet(broken: () => boolean, sweeps = 3.3): Promise<void> {
    const { kernel, oracle, plan, db, fleet } = this.#world
    // What was sent in the storm and has no answer yet is an error at its deadline, and is tried again then.
    const waits = plan.weather.slow > 0 || fleet.members.some(({ process }) => process.unanswered > 0)
    await kernel.run(broken, waits ? Math.max(1_000, this.#since + deadlineMs - kernel.now()) : 1_000)
    const before = { starts: oracle.starts, atMs: kernel.now() }
    await kernel.run(broken, sweeps * plan.sweepMs)
    oracle.check(
      'L1',
      oracle.starts === before.starts,
      () => `${oracle.starts - before.starts} starts though all is done`,
    )
    for (const job of this.jobs) {
      const pushedMs = this.#world.lastPushMs.get(job) ?? 0
      oracle.check('L1', pushedMs < before.atMs, () => `hints of ${job} are pushed though all is done`)
    }
    for (const job of this.jobs) {
      const ageMs = this.#world.nowMs() - (db.sweeps.get(job)?.lastAttemptAt ?? 0)
      const lateMs = plan.weather.slow > 0 ? turnMs : 0
      oracle.check(
        'L2',
        ageMs <= 1.1 * plan.sweepMs + 2_000 + lateMs,
        () => `the last sweep of ${job} is ${ageMs} ms old`,
      )
    }
    this.#world.hostile.check(this.jobs)
    checkDeclared(this.#world, this.jobs)
    this.#world.unique.check(this.jobs)
    const open = oracle.openClaims(this.jobs)
    oracle.check('S5', open.length === 0, () => `runs whose end was never recorded: ${open.slice(0, 5).join(', ')}`)
  }

  /** L5: claims of the dead are free. */
  #checkClaims(): void {
    const { db, oracle, plan } = this.#world
    const nowMs = this.#world.nowMs()
    for (const { holder, job, key } of db.ledger.values()) {
      if (holder === null || !this.jobs.includes(job)) continue
      const beatMs = nowMs - (db.workers.get(holder)?.beatAt ?? 0)
      oracle.check(
        'L5',
        beatMs <= plan.leaseMs + 2_000,
        () => `${job} ${key} is still held by one that is dead since ${beatMs} ms`,
      )
    }
    this.#world.tally.check('L5')
  }

  /** S16: no loop hangs on a call that never got an answer. */
  async #loops(): Promise<void> {
    const { kernel, oracle, fleet } = this.#world
    const aged = kernel.now() - this.#since
    for (const { process, worker } of fleet.working()) {
      let report: Awaited<ReturnType<NonNullable<typeof worker>['loops']>> | undefined
      void worker?.loops().then((loops) => {
        report = loops
      })
      await kernel.run(() => report !== undefined, 1_000)
      if (aged >= deadlineMs + 12_000 && process.unanswered > 0)
        oracle.check('S16', report !== undefined, () => `${process.name} has not got its store open`)
      for (const { name, successAgeMs } of report ?? []) {
        const boundMs = ['queue_probe', 'local_sweep', 'repair'].includes(name) ? 70_000 : 12_000
        if (aged < boundMs + deadlineMs || process.unanswered === 0) continue
        const age = successAgeMs ?? Number.POSITIVE_INFINITY
        oracle.check('S16', age <= boundMs, () => `the loop ${name} of ${process.name} last succeeded ${age} ms ago`)
      }
    }
  }
}
