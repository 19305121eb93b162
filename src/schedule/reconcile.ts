// Reads schedules, decides, writes, and hints what was made: database first, queue second. Who finds that somebody else wrote
// meanwhile reads again; decisions of one schedule come one after the other (S9).
import type { Events } from '../base/events.ts'
import type { Random } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { ScheduleRow, Schedules, ScheduleWrite } from '../store/schedules.ts'
import { type Pattern, type PatternSpec, pattern } from './pattern.ts'
import type { PlanPorts } from './plan.ts'
import { withoutInstants } from './without-instants.ts'

export interface KeepPorts {
  readonly schedules: Schedules
  readonly push: Push
  readonly random: Random
  readonly events: Events<EventMap>
  readonly leaseMs: number
}

/** Two writers of one schedule meet seldom, ten in a row do not. */
const tries = 10

/** What was decided of one schedule; `write` null: nothing. */
export interface Decided<T> {
  readonly row: ScheduleRow
  readonly write: ScheduleWrite | null
  readonly value: T
}

/**
 * Decides about the schedules of these names until it is written. Names that are not there (any more), and those that nobody here
 * can decide about, are left out. Returns what was decided, by name.
 */
export async function keeping<T>(
  ports: KeepPorts,
  names: readonly string[],
  decide: (row: ScheduleRow, plan: PlanPorts) => { write: ScheduleWrite | null; value: T },
): Promise<Map<string, Decided<T>>> {
  const done = new Map<string, Decided<T>>()
  let left = names
  for (let round = 0; left.length > 0; round++) {
    const { atMs, rows } = await ports.schedules.look(left, ports.leaseMs)
    const decided = decideEach(ports, rows, (row) => ({ row, ...decide(row, planPorts(ports, row, atMs)) }))
    const stood = await writeAll(ports, decided, atMs)
    for (const each of decided) if (stood.has(each.row.name)) done.set(each.row.name, each)
    left = decided.map(({ row }) => row.name).filter((name) => !stood.has(name))
    if (round >= tries && left.length > 0)
      throw new Error(`The schedule "${left[0]}" is written by others all the time`)
  }
  return done
}

/** What is decided of each; the error of one that this code cannot read, stored by other code, is told, and the others go on. */
export function decideEach<T>(
  { events }: Pick<KeepPorts, 'events'>,
  rows: readonly ScheduleRow[],
  decide: (row: ScheduleRow) => T,
): T[] {
  return rows.flatMap((row) => {
    try {
      return [decide(row)]
    } catch (error) {
      events.emit('loop.failed', { loop: 'schedules', schedule: row.name, error })
      return []
    }
  })
}

/** Writes what was decided in one statement, and hints what was made. Returns the names that stand as decided. */
export async function writeAll(
  { schedules, push, events }: KeepPorts,
  decided: readonly { row: ScheduleRow; write: ScheduleWrite | null }[],
  atMs: number,
  options: { audited?: boolean } = {},
): Promise<Set<string>> {
  const writes = decided.flatMap(({ write }) => (write ? [write] : []))
  const written = writes.length > 0 ? await schedules.write(writes, options) : new Set<string>()
  const stood = writes.filter(({ name }) => written.has(name))
  const hints = stood.flatMap((write) => hintsOf(write, atMs))
  if (hints.length > 0) await push(hints)
  for (const { schedule, slotMs, state, reason, throughMs, count } of stood.flatMap(({ slots }) => slots))
    if (state === 'skipped' && reason)
      events.emit('slot.skipped', {
        schedule,
        at: iso(slotMs),
        reason,
        through: throughMs === null ? null : iso(throughMs),
        count,
      })
  return new Set(decided.filter(({ write }) => !write || written.has(write.name)).map(({ row }) => row.name))
}

const iso = (ms: number) => new Date(ms).toISOString()

/** Slots that were made or kept; one that begins has its hint behind it. */
const hintsOf = ({ slots }: ScheduleWrite, atMs: number): Hint[] =>
  slots.flatMap(({ lane, key, dueMs, state, begins }) =>
    state === 'waiting' && !begins ? [{ job: lane, key, delayMs: Math.max(0, dueMs - atMs), fresh: true }] : [],
  )

export const planPorts = ({ random }: Pick<KeepPorts, 'random'>, row: ScheduleRow, atMs: number): PlanPorts => ({
  pattern: withoutInstants(patternOf(row), row.ran),
  atMs,
  chance: () => random.float(),
})

/** Patterns that were read lately: a schedule of each second reads its own each second. */
const known = new Map<string, Pattern>()
const knownMax = 1_000

function patternOf({ cron, everyMs, tz, startAtMs, endAtMs }: PatternSpec): Pattern {
  const id = JSON.stringify([cron, everyMs, tz, startAtMs, endAtMs])
  const found = known.get(id) ?? pattern({ cron, everyMs, tz, startAtMs, endAtMs })
  if (known.size >= knownMax) known.clear()
  known.set(id, found)
  return found
}

/** The next instants of a pattern. */
export function instantsOf(spec: PatternSpec, afterMs: number, count: number): number[] {
  const { next } = patternOf(spec)
  const found: number[] = []
  for (let at = next(afterMs); at !== null && found.length < count; at = next(at)) found.push(at)
  return found
}
