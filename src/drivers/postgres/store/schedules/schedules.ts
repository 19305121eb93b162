// Schedules and their slots in SQL.
import { RegrowError } from '../../../../base/errors.ts'
import type { OpenSlot, ScheduleRow, Schedules, SkipReason, SlotWrite } from '../../../../store/schedules.ts'
import type { Row, SqlDatabase } from '../../../sql/client.ts'
import { executorOf } from '../opaque.ts'
import type { Statements } from '../statements-by-schema.ts'

/** `available`: false on a schema that is older than schedules; nothing recurs there. `rewinds`: it has what a rewind needs. */
export function sqlSchedules(
  db: SqlDatabase,
  texts: () => Statements,
  available: () => boolean,
  rewinds: () => boolean,
): Schedules {
  const look = async (names: readonly string[] | null, after: string | null, limit: number, leaseMs: number) => {
    if (!available()) return { atMs: 0, rows: [] }
    const asked = names && JSON.stringify(names)
    const { rows } = await db.query(texts().schedules.read, [asked, after, limit, leaseMs])
    return { atMs: Number(rows[0]?.at_ms), rows: rows.filter(({ name }) => name !== null).map(scheduleOf) }
  }
  return {
    async declare(specs, tx) {
      if (!available()) throw tooOld()
      const rows = specs.map(({ everyMs, startAtMs, endAtMs, jitterMs, input, ...spec }) => ({
        ...spec,
        every_ms: everyMs,
        start_at: instant(startAtMs),
        end_at: instant(endAtMs),
        jitter_ms: jitterMs,
        input: input === null ? null : JSON.parse(input),
      }))
      const answer = await (tx ? executorOf(tx) : db).query(texts().schedules.declare, [JSON.stringify(rows)])
      return answer.rows.map(({ name }) => name as string)
    },
    look: (names, leaseMs) => look(names, null, names.length, leaseMs),
    page: (after, limit, leaseMs) => look(null, after, limit, leaseMs),
    async write(writes, { audited = false } = {}) {
      const schedules = writes.map(({ name, term, lastSlotMs }) => ({ name, term, last_slot: instant(lastSlotMs) }))
      const slots = writes.flatMap((each) => each.slots.map(slotInput))
      const { rows } = await db.query(texts().schedules.writeSlots, [
        JSON.stringify(schedules),
        JSON.stringify(slots),
        audited,
      ])
      return new Set(rows.map(({ name }) => name as string))
    },
    async turn(everyMs, declared = new Map()) {
      if (!available()) return { waitMs: everyMs, missing: false }
      const { rows } = await db.query(texts().ledgerAudit.acquire, [
        everyMs,
        JSON.stringify(Object.fromEntries(declared)),
      ])
      const waitMs = rows[0]?.won === true ? 0 : Math.max(1, Number(rows[0]?.wait_ms))
      return { waitMs, missing: rows[0]?.missing === true }
    },
    upkeep: {
      async rewind(names) {
        if (!rewinds()) return []
        const { rows } = await db.query(texts().schedules.rewind, [JSON.stringify(names)])
        return rows.map(({ name }) => name as string)
      },
      async tidy(leaseMs) {
        const { rows } = await db.query(texts().schedules.tidy, [leaseMs])
        const ended = JSON.parse((rows[0]?.ended as string | null) ?? '[]') as string[]
        return { ended, forgotten: Number(rows[0]?.forgotten) }
      },
    },
    async hand(key, { job, intent, key: row }, tx) {
      await (tx ? executorOf(tx) : db).query(texts().schedules.hand, [key, job, intent, row])
    },
    async finish(keys, { tx, skipped = null as SkipReason | null } = {}) {
      await (tx ? executorOf(tx) : db).query(texts().schedules.finishSlots, [JSON.stringify(keys), skipped])
    },
  }
}

const tooOld = () =>
  new RegrowError(
    'schema_too_old',
    "Schedules need a newer schema than regrow's tables have",
    'Run `regrow migrate`; everything else works until then.',
  )

/** As text, which loses nothing on its way. */
export const instant = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

const number = (cell: unknown) => (cell === null || cell === undefined ? null : Number(cell))

/** To the ms: what Postgres keeps is finer than what we count in. */
const whole = (cell: unknown) => (cell === null || cell === undefined ? null : Math.round(Number(cell)))

const slotInput = ({ slotMs, dueMs, throughMs, ...slot }: SlotWrite) => ({
  ...slot,
  slot: instant(slotMs),
  due_at: instant(dueMs),
  through: instant(throughMs),
})

function scheduleOf(row: Row): ScheduleRow {
  const open = JSON.parse((row.open as string | null) ?? '[]') as [
    slotMs: number,
    dueMs: number,
    key: string,
    held: boolean,
    begunMs: number | null,
    standing: OpenSlot['standing'],
  ][]
  return {
    name: row.name as string,
    job: row.job as string,
    lane: row.lane as string,
    version: Number(row.version),
    term: Number(row.term),
    cron: row.cron as string | null,
    everyMs: number(row.every_ms),
    tz: row.tz as string,
    missed: row.missed as string,
    overlap: row.overlap as ScheduleRow['overlap'],
    jitterMs: Number(row.jitter_ms),
    key: row.key as string | null,
    input: row.input as string | null,
    declared: row.declared as boolean,
    startAtMs: whole(row.start_at_ms),
    endAtMs: whole(row.end_at_ms),
    fromMs: Number(row.from_ms),
    lastSlotMs: whole(row.last_slot_ms),
    paused: row.paused as boolean,
    jobPaused: row.job_paused as boolean,
    handedMs: number(row.handed_ms),
    live: row.live as boolean,
    ran: (JSON.parse((row.ran as string | null | undefined) ?? '[]') as number[]).map(Math.round),
    open: open.map(
      ([slotMs, dueMs, key, held, begunMs, standing]): OpenSlot => ({
        slotMs: Math.round(slotMs),
        dueMs: Math.round(dueMs),
        key,
        held,
        begunMs,
        standing,
      }),
    ),
  }
}
