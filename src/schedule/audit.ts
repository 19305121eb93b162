// The watchdog of schedules, in every working process: one of them at a time goes through all schedules in pages. What was never
// started gets its first slot, a missing future slot is made, and slots without a hint are hinted again. It is a loop of its own:
// it runs whether the worker is busy or idle (L2), and a lost, doubled or late one does no harm.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import { spread } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { ScheduleRow } from '../store/schedules.ts'
import { keepSchedules } from './declare.ts'
import { keep } from './plan.ts'
import { decideEach, type KeepPorts, planPorts, writeAll } from './reconcile.ts'

export interface AuditPorts extends KeepPorts {
  readonly clock: Clock
  readonly events: Events<EventMap>
  /** False before the worker is registered: its schedules would look as if nobody had them. */
  readonly mayBegin: () => boolean
  /** False: each process has a queue of its own, and what one hints no other sees. */
  readonly queue: { readonly shared: boolean }
  /** Adds what this process declares, before its first audit and when it is missing. Returns the versions of it, by name. */
  readonly declare: () => Promise<ReadonlyMap<string, number>>
}

/** What an audit did. */
export interface AuditReport {
  readonly processed: number
  /** Schedules that nobody could decide about; their error was told. */
  readonly failed: number
  /** Slots that were missing. */
  readonly created: number
  /** Slots that had no hint. */
  readonly orphans: number
}

const pageSize = 500
/**
 * Ten seconds, and two more per thousand schedules: ten thousand are gone through each half minute. Where there are none, half a minute:
 * a process that adds one makes its first slot itself.
 */
const every = { leastMs: 10_000, perScheduleMs: 2, noneMs: 30_000 }
const notYetMs = 20
/** Slots due later than this are hinted by who made them, and by the next audits. */
const horizonMs = 60_000

export function auditLoop(ports: AuditPorts): LoopSpec & { anew(): void; declareAgain(): void } {
  const { clock, events, schedules, random } = ports
  let declared: ReadonlyMap<string, number> | null = null
  let everyMs = every.leastMs
  let none = false
  let forced = false
  /** What is stored of a schedule may not be what was declared: somebody else wrote to it (L10). */
  let doubtful = false
  return {
    name: 'schedules',
    /** The queue was lost: the next round is an audit, whosever turn it is. */
    anew: () => {
      forced = true
    },
    /** Damaged schedules were put right: the next round declares them again, as they are meant. */
    declareAgain: () => {
      doubtful = true
      forced = true
    },
    async tick(signal) {
      if (!ports.mayBegin()) return notYetMs
      forced ||= declared === null
      if (declared === null || doubtful) declared = await ports.declare()
      doubtful = false
      // Behind a queue of its own each process sees to its own hints; else one does it for all.
      const { waitMs, missing } = await schedules.turn(everyMs, declared)
      // L10: the tables were emptied, or restored from before this was declared.
      if (missing) {
        const names = [...declared.keys()]
        declared = await ports.declare()
        events.emit('declarations.missing', { sweeps: [], schedules: names })
      }
      if (waitMs > 0 && !forced && ports.queue.shared)
        return Math.min(waitMs, none ? every.leastMs : everyMs) + spread(random, 50, 0.5)
      forced = false
      const startedAt = clock.now()
      const report = await audit(ports, signal)
      none = report.processed === 0
      doubtful = report.failed > 0
      everyMs = none ? every.noneMs : every.leastMs + every.perScheduleMs * report.processed
      if (waitMs === 0) await tidy(ports)
      if (report.processed > 0) events.emit('schedules.audited', { ...report, tookMs: clock.now() - startedAt })
      return spread(random, none ? every.leastMs : everyMs, 0.1)
    },
  }
}

/** One pass over all schedules: a read, a write and a push per page at most. */
export async function audit(ports: AuditPorts, signal?: AbortSignal): Promise<AuditReport> {
  const report = { processed: 0, failed: 0, created: 0, orphans: 0 }
  for (let after: string | null = null; !signal?.aborted; ) {
    const { atMs, rows } = await ports.schedules.page(after, pageSize, ports.leaseMs)
    const decided = decideEach(ports, rows, (row) => {
      // Empty where all is well: an audit stamps what it saw.
      const write = keep(row, planPorts(ports, row, atMs))
      return { row, write: write ?? { name: row.name, term: row.term, lastSlotMs: null, slots: [] } }
    })
    report.failed += rows.length - decided.length
    const stood = await writeAll(ports, decided, atMs, { audited: true })
    report.processed += rows.length
    // L10: brought back to the present, they have other slots.
    const ahead = rows.filter((row) => isAhead(row, atMs)).map(({ name }) => name)
    if (ahead.length > 0) await keepSchedules(ports, await ports.schedules.upkeep.rewind(ahead))
    for (const { row, write } of decided)
      if (stood.has(row.name)) report.created += write.slots.filter(({ state }) => state === 'waiting').length
    const orphans = rows.flatMap((row) => openHints(row, atMs))
    if (orphans.length > 0) report.orphans += (await ports.push(orphans)).added
    if (rows.length < pageSize) break
    after = rows.at(-1)?.name ?? null
  }
  return report
}

/** Statements that meet, and clocks that are adjusted, differ by less. */
const slackMs = 10_000

/** The store's clock was set back: what was written before is of a time that has not come. */
const isAhead = ({ fromMs, lastSlotMs, jitterMs, open }: ScheduleRow, atMs: number) =>
  Math.max(fromMs, lastSlotMs ?? fromMs) > atMs + slackMs ||
  open.some(({ dueMs, slotMs, begunMs }) => begunMs === null && dueMs > Math.max(slotMs + jitterMs, atMs) + slackMs)

/** Slots that wait: whether they have a hint, the queue knows; one that has is left alone. */
const openHints = (row: ScheduleRow, atMs: number) =>
  row.paused || row.jobPaused
    ? []
    : row.open.flatMap(({ key, dueMs, held, standing }) =>
        held || standing || dueMs > atMs + horizonMs
          ? []
          : [{ job: row.lane, key, delayMs: Math.max(0, dueMs - atMs), fresh: false }],
      )

async function tidy({ schedules, events, leaseMs }: AuditPorts): Promise<void> {
  const { ended } = await schedules.upkeep.tidy(leaseMs)
  for (const schedule of ended) events.emit('schedule.ended', { schedule, why: 'absent' })
}
