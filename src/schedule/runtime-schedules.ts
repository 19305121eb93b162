// Schedules that were made at run time, for jobs whose work is rows or inputs: at its instant a slot hands the work over, an input
// as an intent in the same commit, a key as a hint. Any worker can do it: it needs no handler of the job.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import { type Random, uuidsInOrder } from '../base/random.ts'
import type { EventMap } from '../job/event-map.ts'
import type { Context, Handler, Transaction } from '../job/handler.ts'
import type { Job } from '../job/job.ts'
import { type Slot, slotCodec, slotKey } from '../job/schedule.ts'
import { uniqueOfSchedule } from '../job/unique.ts'
import type { Push } from '../queue/push.ts'
import type { Intents } from '../store/intents.ts'
import type { ScheduleRow, Schedules, SkipReason } from '../store/schedules.ts'
import type { StoreTransaction } from '../store/transaction.ts'

/** The lane of slots that hand over. No job of a user's has a name like this. */
export const handOverLane = 'regrow.slots'

const job: Job = {
  name: handOverLane,
  key: slotCodec,
  query: null,
  custom: null,
  input: null,
  slots: true,
  schedule: null,
  retry: { attemptsMax: 1_000_000, backoff: 'exponential', backoffMs: 1_000, backoffMaxMs: 60_000 },
  timeoutMs: 60_000,
  concurrency: null,
  batch: null,
  uniqueUntil: 'start',
  sweepEveryMs: 60_000,
  sweepJitterMs: 0,
  heartbeat: null,
  covers: [],
}

export interface HandOverPorts {
  readonly schedules: Schedules
  readonly intents: Intents
  readonly push: Push
  readonly clock: Clock
  readonly random: Random
  readonly leaseMs: number
  readonly events: Events<EventMap>
  /** The transaction of a run, as the store's ports take it. */
  readonly openedHere: (tx: object) => StoreTransaction | undefined
}

/** The handler that every worker has. */
export function handOver(ports: HandOverPorts): Handler {
  // Not made from the slot: a user could name an id that can be known before. The intent is written in the commit that records the
  // slot as run, so there is one, however often the slot is tried.
  const newId = uuidsInOrder(ports.random)
  const run = async (slot: Slot, ctx: Context<Transaction>) => {
    const { rows } = await ports.schedules.look([slot.schedule], ports.leaseMs)
    const [row] = rows
    // Ended meanwhile: there is nothing to hand over, and its slot did not run.
    if (!row) {
      await ports.schedules.finish([keyOf(slot)], { skipped: 'ended' })
      return tellSkipped(ports, slot, 'ended')
    }
    if (row.input === null) {
      // The row itself says whether there is something to do; for that the hint need not arrive.
      if (row.key === null) return
      await ports.schedules.hand(keyOf(slot), { job: row.job, intent: null, key: row.key })
      await ports.push([{ job: row.job, key: row.key, delayMs: 0, fresh: true }])
      return
    }
    await handInput(ports, row, slot, newId(ports.clock.wall()), ctx)
  }
  return { job, run: run as Handler['run'] }
}

const tellSkipped = ({ events }: HandOverPorts, { schedule, at }: Slot, reason: SkipReason) =>
  events.emit('slot.skipped', { schedule, at: at.toISOString(), reason, through: null, count: null })

async function handInput(
  ports: HandOverPorts,
  row: ScheduleRow,
  slot: Slot,
  id: string,
  ctx: Context<Transaction>,
): Promise<void> {
  const { intents, push, schedules } = ports
  // While the intent of an earlier slot waits or runs, this one is merged into it, unless it may run beside it.
  // Seldom: the plan looks at it before the slot begins.
  const uniqueKey = row.overlap === 'allow' ? null : uniqueOfSchedule(row.name)
  const intent = { id, input: row.input as string, uniqueKey, atMs: null, inMs: 0 }
  let overlapped = false
  await ctx.tx(async (tx) => {
    const within = ports.openedHere(tx) as StoreTransaction
    const isOverlapped = async () => {
      const [answer] = await intents.record(row.job, [intent], within)
      return answer !== undefined && answer.heldBy !== id
    }
    overlapped = await isOverlapped()
    // One in quarantine neither waits nor runs: the schedule goes on beside it, and it stays for a person.
    if (overlapped && (await intents.yieldUnique(row.job, uniqueKey as string, within)))
      overlapped = await isOverlapped()
    if (!overlapped) return schedules.hand(keyOf(slot), { job: row.job, intent: id, key: null }, within)
    if (row.overlap === 'queue') return ctx.snooze(1_000)
    await schedules.finish([keyOf(slot)], { tx: within, skipped: 'overlap' })
  })
  if (!overlapped) await push([{ job: row.job, key: id, delayMs: 0, fresh: true }])
  else if (row.overlap !== 'queue') tellSkipped(ports, slot, 'overlap')
}

const keyOf = ({ schedule, version, at }: Slot) => slotKey(schedule, version, at.getTime())
