// The crash-point sweep: a scenario is played once as it is, and its port events are counted: each request that the process
// under test sends, each reply that it hears. Then once more for each of them, with that event as the end of the process, of
// its wakefulness, or of that call. Whatever the point: nothing is lost, nothing doubled, and no invariant broken.
import type { Act, Ground } from './acts.ts'
import { Calm } from './calm.ts'
import type { Member } from './fleet.ts'
import { calm as noFaults, WireError } from './network.ts'
import type { Plan } from './plan.ts'
import type { Fate, Scenario } from './scenarios.ts'
import type { SimProcess } from './sim-process.ts'
import { Storm } from './storm.ts'
import { SimWorld } from './world.ts'

/** How one play of a scenario went. */
export interface Played {
  /** Port events of the process under test until all was done, or until the point. */
  readonly points: number
  /** What happened at the point. */
  readonly at: string
  /** Starts of all processes. */
  readonly starts: number
  /** Starts of the process under test, not counting those in its place. */
  readonly ownStarts: number
  /** Not done in time, in words. */
  readonly stuck: string | undefined
  /** Broken invariants, in words; S4 is an effect that was doubled. */
  readonly broken: readonly string[]
  readonly doubled: number
  readonly end: string
  readonly story: readonly string[]
}

/** All crash points of a scenario and a fate. */
export interface Swept {
  readonly scenario: string
  readonly fate: Fate
  /** Port events without a crash. */
  readonly points: number
  /** Plays in which the fate struck. */
  readonly crashes: number
  readonly stuck: number
  readonly doubled: number
  /** In words, with the point. */
  readonly wrong: readonly string[]
}

const restartMs = 1_000
const wakeMs = 12_000
/** So many sweeps find nothing to do in the end. */
const quietSweeps = 1.3
/** Whether all is done is asked so often: it reads all rows. */
const lookMs = 10

const planOf = ({ plan }: Scenario): Plan => ({
  seed: 5,
  leaseMs: 3_000,
  sweepMs: 2_000,
  concurrency: 2,
  fleet: [],
  sharedQueue: true,
  bounds: {},
  weather: noFaults,
  blows: [],
  stormMs: 0,
  skews: [],
  ...plan,
})

/** One play; the fate strikes at port event number `point`, and never at 0. */
export async function playScenario(scenario: Scenario, point: number, fate: Fate, keep = 0): Promise<Played> {
  const play = new Play(scenario, point, fate, keep)
  return play.toTheEnd()
}

/** Plays a scenario once for each of its port events. `heard` is told after each play. */
export async function sweepPoints(scenario: Scenario, fate: Fate, heard: () => void = () => {}): Promise<Swept> {
  const calm = await playScenario(scenario, 0, fate)
  const wrong = faults(scenario, calm, 0).map((what) => `without a crash: ${what}`)
  if (calm.ownStarts === 0) wrong.push('without a crash: the process under test starts nothing')
  const swept = { scenario: scenario.name, fate, points: calm.points, crashes: 0, stuck: 0, doubled: 0, wrong }
  if (wrong.length > 0) return { ...swept, stuck: calm.stuck ? 1 : 0, doubled: calm.doubled }
  // What ran when the process died runs again; after one call that broke, one key at most.
  const more = fate === 'is cut off' ? 1 : planOf(scenario).concurrency
  for (let point = 1; point <= calm.points; point++) {
    const played = await playScenario(scenario, point, fate)
    const found = faults(scenario, played, more)
    if (found.length === 0 && played.end !== calm.end) found.push(`it ends otherwise:\n${played.end}\nnot\n${calm.end}`)
    if (played.at) swept.crashes++
    else found.push('the point was never reached')
    if (played.stuck) swept.stuck++
    swept.doubled += played.doubled
    wrong.push(...found.map((what) => `point ${point} (${played.at}): ${what}`))
    heard()
  }
  return swept
}

function faults({ starts: usual }: Scenario, { stuck, broken, starts }: Played, more: number): string[] {
  const often = usual !== 'any' && starts > usual + more
  return [
    ...(stuck ? [`stuck: ${stuck}`] : []),
    ...broken,
    ...(often ? [`handlers started ${starts} times, not ${usual}`] : []),
  ]
}

class Play {
  readonly #scenario: Scenario
  readonly #point: number
  readonly #fate: Fate
  readonly #world: SimWorld
  readonly #storm: Storm
  readonly #calm: Calm
  readonly #jobs: readonly string[]
  /** Processes that nothing happens to. */
  readonly #immortal = new Set<SimProcess>()
  readonly #waiting = new Map<string, Act[]>()
  #points = 0
  #ownStarts = 0
  #at = ''
  #done = false

  constructor(scenario: Scenario, point: number, fate: Fate, keep: number) {
    this.#scenario = scenario
    this.#point = point
    this.#fate = fate
    this.#world = new SimWorld(planOf(scenario), keep)
    this.#storm = new Storm(this.#world)
    this.#calm = new Calm(this.#world, this.#storm)
    this.#jobs = scenario.parts.map(({ name }) => name)
    this.#calm.jobs = this.#jobs
  }

  async toTheEnd(): Promise<Played> {
    const { kernel, network, fleet, oracle, trace } = this.#world
    network.onEvent = (process, name) => this.#event(process, name)
    const mortal = fleet.start(this.#jobs)
    mortal.app.on('job.started', () => this.#ownStarts++)
    if (this.#scenario.survivor === 'beside') this.#deploy()
    this.#storm.begin()
    for (const act of this.#scenario.acts) this.#plan(act)
    const broken = () => oracle.violations.length > 0
    let next = 0
    const isDone = () => {
      if (broken()) return true
      if (kernel.now() < next) return false
      next = kernel.now() + lookMs
      return this.#isDone()
    }
    this.#done = await kernel.run(isDone, this.#boundMs())
    const unfinished = this.#done ? [] : this.#calm.unfinished()
    this.#storm.end()
    // What a process that wakes still has to enqueue is looked at again for some seconds, though it is done.
    if (this.#fate === 'freezes' && this.#done) await kernel.run(broken, wakeMs)
    if (this.#done && !broken()) await this.#calm.quiet(broken, quietSweeps)
    for (const { process } of fleet.members) process.kill()
    const doubled = oracle.violations.filter(({ invariant }) => invariant === 'S4').length
    return {
      points: this.#points,
      at: this.#at,
      starts: oracle.starts,
      ownStarts: this.#ownStarts,
      stuck: this.#done ? undefined : `after ${this.#boundMs()} ms: ${unfinished.join('; ') || 'the scenario goes on'}`,
      broken: oracle.violations.map(({ invariant, what, atMs }) => `${invariant} at ${Math.round(atMs)} ms: ${what}`),
      doubled,
      end: this.#calm.ending(),
      story: trace.story(),
    }
  }

  /** L5, L3: what a dead process ran is free after its lease, and one more when nobody beat; then a sweep finds everything. */
  #boundMs(): number {
    const { leaseMs, sweepMs } = this.#world.plan
    const { soonMs } = this.#scenario
    if (this.#point === 0) return soonMs
    return soonMs + restartMs + 3 * leaseMs + 1.1 * sweepMs + (this.#fate === 'freezes' ? 1.5 * leaseMs : 0)
  }

  #plan(act: Act): void {
    if (typeof act.when === 'string') this.#waiting.set(act.when, [...(this.#waiting.get(act.when) ?? []), act])
    else {
      this.#storm.busy++
      this.#world.kernel.after(act.when, () => this.#perform(act))
    }
  }

  #perform(act: Act): void {
    const ground: Ground = { world: this.#world, mortal: () => this.#mortal(), deploy: () => this.#deploy() }
    void Promise.resolve(act.play(ground)).finally(() => this.#storm.busy--)
  }

  #mortal(): Member | undefined {
    return this.#world.fleet.working().find(({ process }) => this.#isMortal(process))
  }

  #isMortal(process: SimProcess): boolean {
    return process.name.startsWith('worker') && !this.#immortal.has(process)
  }

  #deploy(): void {
    this.#immortal.add(this.#world.fleet.start(this.#jobs).process)
  }

  #event(process: SimProcess, name: string): Error | undefined {
    if (!process.name.startsWith('worker')) return undefined
    const acts = this.#waiting.get(name) ?? []
    this.#waiting.delete(name)
    for (const act of acts) {
      this.#storm.busy++
      this.#world.kernel.after(0, () => this.#perform(act))
    }
    if (this.#done || this.#at || !this.#isMortal(process)) return undefined
    this.#points++
    return this.#points === this.#point ? this.#strike(process, name) : undefined
  }

  #strike(process: SimProcess, name: string): Error | undefined {
    const { fleet, trace, kernel, plan } = this.#world
    this.#at = `${process.name} ${this.#fate} at ${name}`
    trace.tell('POINT', this.#at)
    if (this.#fate === 'is cut off') return new WireError('ECONNRESET', `Connection terminated unexpectedly: ${name}`)
    const member = fleet.of(process)
    const replaced = this.#scenario.survivor === 'restarted' && !member?.leaving
    if (this.#fate === 'dies') {
      if (member) fleet.crash(member, replaced ? { afterMs: restartMs } : null)
      else process.kill()
    } else {
      process.freeze()
      if (replaced) kernel.after(restartMs, () => this.#deploy())
      kernel.after(2.5 * plan.leaseMs, () => process.thaw())
    }
    return undefined
  }

  /** All acts are over, the fate has struck, somebody works, and nothing is left to do. */
  #isDone(): boolean {
    if (this.#storm.busy > 0 || (this.#point > 0 && !this.#at)) return false
    const { fleet } = this.#world
    if (fleet.members.some(({ process }) => process.state === 'frozen') || fleet.working().length === 0) return false
    return this.#calm.unfinished().length === 0
  }
}
