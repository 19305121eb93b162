// One history from its seed: a storm in which nothing wrong may happen, then calm in which everything must come right: a part
// of the fleet survives, all work is done, the queue falls silent, and a few last tests of how fast it heals.
import { Calm } from './calm.ts'
import { calm as noFaults } from './network.ts'
import type { Violation } from './oracle.ts'
import { type Plan, planOf } from './plan.ts'
import { seededRandom } from './process.ts'
import { type Action, scriptOf } from './script.ts'
import { Storm } from './storm.ts'
import type { Counts } from './tally.ts'
import { SimWorld } from './world.ts'

export interface HistoryOptions {
  /** Lines of its story to keep. Defaults to none. */
  readonly keep?: number
  /** The same users and fleet, and no faults. Defaults to false. */
  readonly faultless?: boolean
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

export async function history(seed: number, { keep = 0, faultless = false }: HistoryOptions = {}): Promise<Told> {
  const drawn = planOf(seed, seededRandom(seed))
  const plan: Plan = faultless ? { ...drawn, blows: [], weather: noFaults } : drawn
  return play(plan, scriptOf(seededRandom(seed * 7 + 3), plan.stormMs), keep)
}

/** Plays a script against a plan. */
export async function play(plan: Plan, script: readonly Action[], keep = 0): Promise<Told> {
  const world = new SimWorld(plan, keep)
  const { kernel, oracle, trace, fleet, user, tally } = world
  const broken = () => oracle.violations.length > 0
  for (const jobs of plan.fleet) fleet.start(jobs)
  const storm = new Storm(world)
  storm.begin()
  user.play(script)
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
