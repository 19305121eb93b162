// One history from its seed: a storm in which nothing wrong may happen, then calm in which everything must come right: a part
// of the fleet survives, all work is done, the queue falls silent, and a few last tests of how fast it heals.
import type { PGlite } from '@electric-sql/pglite'
import { Calm } from './calm.ts'
import { hostileOf } from './hostile.ts'
import { calm as noFaults } from './network.ts'
import type { Violation } from './oracle.ts'
import { PgliteTruth } from './pglite-truth.ts'
import { type Plan, planOf } from './plan.ts'
import { recurringOf } from './recurring.ts'
import { playRecurring } from './recurring-acts.ts'
import { type Action, scriptOf } from './script.ts'
import { seededRandom } from './seeded-random.ts'
import { Storm } from './storm.ts'
import type { Counts } from './tally.ts'
import { isOfTheClock, undated, upsetsOf } from './upsets.ts'
import { kernelOf, SimWorld } from './world.ts'

export interface HistoryOptions {
  /** Lines of its story to keep. Defaults to none. */
  readonly keep?: number
  /** The same users and fleet, and no faults. Defaults to false. */
  readonly faultless?: boolean
  /** Plays on the SQL of the store in this PGlite instead of on the model. */
  readonly pglite?: PGlite
}

export interface Told {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly counts: Counts
  /** Equal for the same history. */
  readonly hash: string
  readonly virtualMs: number
  readonly steps: number
  readonly starts: number
  /** The rows, effects and quarantine that it ended with: times and attempts aside. */
  readonly end: string
  readonly story: readonly string[]
}

export async function history(seed: number, options: HistoryOptions = {}): Promise<Told> {
  const { keep = 0, faultless = false, pglite } = options
  const drawn: Plan = planOf(seed, seededRandom(seed))
  const recurring = recurringOf(seed, drawn.stormMs)
  const upsets = pglite ? [] : upsetsOf(seed, drawn.stormMs, recurring !== null)
  const blows = [...drawn.blows, ...hostileOf(seed, drawn.stormMs), ...upsets]
  const plan: Plan = { ...drawn, blows, recurring, ...(faultless ? { blows: [], weather: noFaults } : {}) }
  const dated = scriptOf(seededRandom(seed * 7 + 3), plan.stormMs)
  const script = upsets.some(({ kind }) => isOfTheClock(kind)) ? dated.map(undated) : dated
  if (!pglite) return play(new SimWorld(plan, keep), script)
  const kernel = kernelOf(plan)
  return play(new SimWorld(plan, keep, kernel, await PgliteTruth.begin(pglite, kernel)), script.map(inOneConnection))
}

/** A transaction of regrow's that stays open would hold the only connection. */
const inOneConnection = (action: Action): Action => (action.kind === 'intent' ? { ...action, heldMs: 0 } : action)

/** Plays a script in a world, against its plan. */
export async function play(world: SimWorld, script: readonly Action[]): Promise<Told> {
  const { plan, kernel, oracle, trace, fleet, user, tally } = world
  const broken = () => oracle.violations.length > 0
  for (const jobs of plan.fleet) fleet.start(jobs)
  const storm = new Storm(world)
  storm.begin()
  user.play(script)
  playRecurring(world)
  await kernel.run(broken, plan.stormMs)
  storm.end()
  const calm = new Calm(world, storm)
  if (!broken()) await calm.settle()
  const end = calm.ending()
  if (!broken()) await calm.examine()
  for (const { process } of fleet.members) process.kill()
  return {
    seed: plan.seed,
    violations: oracle.violations,
    counts: { faults: tally.faults, checks: tally.checks },
    hash: trace.hash,
    virtualMs: kernel.now(),
    steps: kernel.steps,
    starts: oracle.starts,
    end,
    story: trace.story(),
  }
}
