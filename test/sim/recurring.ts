// What recurs in a history: jobs with schedules whose declaration changes from deploy to deploy, one that is made at run time and
// hands inputs over, and what people do with them. Drawn apart from the rest, so that it changes nothing of what else a seed means.
import type { ScheduleOptions } from '../../src/job/schedule.ts'
import type { Deed, Part } from './cast.ts'
import { Draw } from './plan.ts'
import { seededRandom } from './seeded-random.ts'

/** The code of a deploy: what it declares of each schedule. */
export interface Edition {
  readonly fromMs: number
  readonly schedules: Readonly<Record<string, ScheduleOptions>>
}

/** What a person does with a schedule. */
export interface RecurringAct {
  readonly atMs: number
  readonly kind: 'pause' | 'run' | 'end' | 'change'
  readonly name: string
  /** How long it is paused, or ended, until it is resumed. */
  readonly ms: number
  /** For `change`: of the one that was made at run time. */
  readonly options: ScheduleOptions
}

export interface RecurringPlan {
  readonly editions: readonly Edition[]
  /** Made at run time, for `report.send`; null: none. */
  readonly handed: { readonly atMs: number; readonly options: ScheduleOptions } | null
  readonly acts: readonly RecurringAct[]
}

const plain = {
  table: '',
  many: false,
  versioned: false,
  timed: false,
  transacts: true,
  uniqueUntil: 'start',
  timeout: '2m',
  deeds: [],
  keys: [],
  sql: { text: '', values: [] },
  recurs: true,
} as const

const recurring = (name: string): Part => ({ ...plain, name, key: 'text', input: false })

/** Jobs with a schedule of their own. */
export const ticks: readonly Part[] = [recurring('tick.quick'), recurring('tick.cron'), recurring('tick.minute')]
/** The job that a schedule made at run time hands its inputs to. */
export const report: Part = { ...plain, name: 'report.send', key: 'uuid', input: true }
/** The name of that schedule. */
export const handed = 'report.often'
/** The lane of slots that hand over; every worker has its handler. */
export const ownLane = 'regrow.slots'

export const recurringParts: readonly Part[] = [...ticks, report]
const byName = new Map(recurringParts.map((part) => [part.name, part]))
export const recurringPartOf = (job: string): Part | undefined => byName.get(job)

/** Of the jobs of a worker, whether it has the recurring ones, too: the special one, which has two, has not. */
export const recursIn = (jobs: readonly string[]): boolean => jobs.length > 0 && jobs.length !== 2

/** What the handler of a slot does; all are well when the storm is over. */
export function slotDeed(seed: number, slotMs: number, calm: boolean): Deed {
  const chosen = Math.abs(Math.imul(Math.floor(slotMs / 500) ^ seed, 0x9e3779b1) >> 8) % 20
  if (calm || chosen > 4) return 'ok'
  return chosen < 3 ? 'slow' : chosen === 3 ? 'fails twice' : 'gives up'
}

/** Of all histories: what recurs makes them twice as long to play. */
const share = 0.2

/** What recurs in the history of a seed; null: nothing. */
export function recurringOf(seed: number, stormMs: number): RecurringPlan | null {
  const draw = new Draw(seededRandom(seed * 31 + 11))
  if (!draw.chance(share)) return null
  const names = ticks.map(({ name }) => name)
  const count = draw.of([1, 2, 2, 3])
  const editions = Array.from({ length: count }, (_, i) => ({
    fromMs: i === 0 ? 0 : draw.between(0, stormMs),
    schedules: Object.fromEntries(names.map((name) => [name, optionsOf(draw, name)])),
  })).sort((a, b) => a.fromMs - b.fromMs)
  const acts = Array.from({ length: draw.of([0, 1, 2, 3, 5]) }, (): RecurringAct => {
    const kind = draw.of(['pause', 'pause', 'run', 'end', 'change'] as const)
    const name = kind === 'change' ? handed : draw.of([...names, handed])
    return {
      ...{ kind, name, atMs: draw.between(1_000, stormMs), ms: draw.between(500, 9_000) },
      options: optionsOf(draw, handed),
    }
  })
  const made = draw.chance(0.7) ? { atMs: draw.between(0, stormMs / 2), options: optionsOf(draw, handed) } : null
  return { editions, handed: made, acts: acts.filter(({ name }) => made !== null || name !== handed) }
}

function optionsOf(draw: Draw, name: string): ScheduleOptions {
  const seconds = draw.of([2, 3, 4])
  const when: Record<string, ScheduleOptions> = {
    'tick.quick': { every: `${seconds}s` },
    'tick.cron': { cron: `*/${seconds} * * * * *`, tz: draw.of(['UTC', 'Asia/Kolkata']) },
    'tick.minute': draw.chance(0.5) ? { cron: '* * * * *' } : { every: '20s' },
    [handed]: { every: `${seconds + 1}s` },
  }
  return {
    ...when[name],
    missed: draw.of(['once', 'skip', { all: 3 }] as const),
    overlap: draw.of(['skip', 'queue', 'allow'] as const),
    ...(draw.chance(0.3) ? { jitter: 700 } : {}),
  }
}
