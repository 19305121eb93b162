// What a seed decides: how the fleet is made up, which faults it will meet and when, and what its users do. A random subset
// of the faults each time, so that rare combinations get their turn.
import type { Random } from '../../src/base/random.ts'
import type { QueueBounds } from '../../src/queue/hint.ts'
import { jobSets } from './cast.ts'
import type { HostileKind } from './hostile.ts'
import type { Weather } from './network.ts'
import type { RecurringPlan } from './recurring.ts'
import type { Skew } from './sim-process.ts'
import type { UpsetKind } from './upsets.ts'

/** A fault at a moment. */
export interface Blow {
  readonly atMs: number
  readonly kind:
    | 'crash'
    | 'freeze'
    | 'deploy'
    | 'wipe'
    | 'lose some'
    | 'roll back'
    | 'garbage'
    | 'foreign'
    | 'queue down'
    | 'queue full'
    | 'store down'
    | 'store restart'
    | 'pause'
    | HostileKind
    | UpsetKind
  /** How long it lasts, where it does. */
  readonly ms: number
}

export interface Plan {
  readonly seed: number
  readonly leaseMs: number
  readonly sweepMs: number
  readonly concurrency: number
  /** Job sets of the processes at the beginning. */
  readonly fleet: readonly (readonly string[])[]
  /** A queue server that all share; otherwise each process has one in its memory. */
  readonly sharedQueue: boolean
  readonly bounds: Partial<QueueBounds>
  readonly weather: Weather
  readonly blows: readonly Blow[]
  /** How long faults go on. */
  readonly stormMs: number
  readonly skews: readonly Skew[]
  /** Left out or null: nothing recurs. */
  readonly recurring?: RecurringPlan | null
}

type Kind = Exclude<Blow['kind'], HostileKind | UpsetKind>

const kinds: readonly Kind[] = [
  'crash',
  'freeze',
  'deploy',
  'wipe',
  'lose some',
  'roll back',
  'garbage',
  'foreign',
  'queue down',
  'queue full',
  'store down',
  'store restart',
  'pause',
]

/** Draws from a seeded source. */
export class Draw {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  chance(likely: number): boolean {
    return this.#random.float() < likely
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.#random.float()
  }

  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  of<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.float() * list.length)] as T
  }
}

export function planOf(seed: number, random: Random): Plan {
  const draw = new Draw(random)
  const stormMs = draw.between(15_000, 40_000)
  const leaseMs = draw.of([3_000, 3_000, 6_000, 15_000])
  const chosen = kinds.filter(() => draw.chance(0.35))
  const blows = chosen
    .flatMap((kind) =>
      Array.from({ length: draw.whole(1, kind === 'crash' ? 5 : 3) }, () => blow(draw, kind, stormMs, leaseMs)),
    )
    .sort((a, b) => a.atMs - b.atMs)
  const likely = () => (draw.chance(0.35) ? draw.of([0.002, 0.01, 0.04]) : 0)
  return {
    seed,
    stormMs,
    leaseMs,
    blows,
    sweepMs: draw.of([4_000, 6_000, 10_000]),
    concurrency: draw.of([1, 2, 4]),
    fleet: Array.from({ length: draw.whole(1, 4) }, (_, i) => (i === 0 ? (jobSets[0] as string[]) : draw.of(jobSets))),
    sharedQueue: draw.chance(0.8),
    bounds: draw.chance(0.3) ? { maxHints: draw.of([1, 2, 5]), maxDelayed: draw.of([2, 100]) } : {},
    weather: { requestLost: likely(), replyLost: likely(), silent: likely() / 4, slow: likely(), twice: likely() },
    skews: Array.from({ length: 40 }, () =>
      draw.chance(0.5)
        ? { wallMs: 0, rate: 1 }
        : { wallMs: draw.between(-3_600_000, 3_600_000), rate: draw.between(0.98, 1.02) },
    ),
  }
}

function blow(draw: Draw, kind: Kind, stormMs: number, leaseMs: number): Blow {
  const ms = {
    crash: 3_000,
    freeze: draw.chance(0.5) ? leaseMs * 0.6 : leaseMs * 3,
    deploy: 0,
    wipe: 0,
    'lose some': 0,
    'roll back': 8_000,
    garbage: 0,
    foreign: 0,
    'queue down': 12_000,
    'queue full': 8_000,
    'store down': draw.chance(0.5) ? 3_000 : leaseMs * 2,
    'store restart': 1_500,
    pause: 10_000,
  }[kind]
  return { kind, atMs: draw.between(0, stormMs), ms: draw.between(0.2, 1) * ms }
}
