// Counts what became of every instant of a schedule: ran, skipped with a reason, still open; missing or told twice is a fault.
import type pg from 'pg'

export interface ScheduleCount {
  readonly schedule: string
  /** Instants from its beginning to the end of the run. */
  readonly instants: number
  readonly ran: number
  /** By reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Waits or runs at the end. */
  readonly open: number
  /** Instants that no row tells of. */
  readonly missing: readonly number[]
  /** Instants in two rows. */
  readonly twice: readonly number[]
  /** Slots with two effects. */
  readonly doubled: number
  /** Instants that are recorded as skipped, and whose handler had started. */
  readonly startedAndSkipped: readonly number[]
}

interface Slot {
  readonly slot: number
  readonly through: number
  readonly state: string
  readonly reason: string | null
}

const slotsOf = `
  select (extract(epoch from slot) * 1000)::float8 as slot, (extract(epoch from coalesce(through, slot)) * 1000)::float8 as through,
    state, reason from regrow.slots where schedule = $1 order by slot`

/** The instants of `everyMs` up to `endMs`, and what the rows tell of them. `started`: slots whose handler began. */
export async function countSlots(
  client: pg.Client,
  schedule: string,
  { everyMs, endMs, started }: { everyMs: number; endMs: number; started: ReadonlySet<number> },
): Promise<ScheduleCount> {
  const { rows: own } = await client.query(
    `select (extract(epoch from created_at) * 1000)::float8 as from_ms from regrow.schedules where name = $1`,
    [schedule],
  )
  const { rows: effects } = await client.query(
    `select slot from effects where schedule = $1 group by slot having count(*) > 1`,
    [schedule],
  )
  const told = new Map<number, Slot[]>()
  for (const each of (await client.query(slotsOf, [schedule])).rows as Slot[])
    for (let at = each.slot; at <= each.through; at += everyMs) told.set(at, [...(told.get(at) ?? []), each])
  const fromMs = Number(own[0]?.from_ms)
  const expected: number[] = []
  for (let at = (Math.floor(fromMs / everyMs) + 1) * everyMs; at <= endMs; at += everyMs) expected.push(at)
  const states = expected.flatMap((at) => told.get(at)?.slice(0, 1) ?? [])
  const skipped: Record<string, number> = {}
  for (const { state, reason } of states)
    if (state === 'skipped') skipped[String(reason)] = (skipped[String(reason)] ?? 0) + 1
  return {
    schedule,
    instants: expected.length,
    ran: states.filter(({ state }) => state === 'ran').length,
    skipped,
    open: states.filter(({ state }) => state === 'waiting' || state === 'held').length,
    missing: expected.filter((at) => !told.has(at)),
    twice: [...told].flatMap(([at, rows]) => (rows.length > 1 ? [at] : [])),
    doubled: effects.length,
    startedAndSkipped: [...started].filter((at) => told.get(at)?.some(({ state }) => state === 'skipped')),
  }
}
