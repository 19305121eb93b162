// Runs beside the pattern, which a person asks for: they account for no instant of the pattern. Random histories: every instant of
// it ran, runs, waits, or is recorded as skipped, none of them twice, whenever somebody runs it by hand.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slotKey } from '../../../src/job/schedule.ts'
import { pattern } from '../../../src/schedule/pattern.ts'
import { begin, keep, type PlanPorts } from '../../../src/schedule/plan.ts'
import type { OpenSlot, ScheduleRow, ScheduleWrite, SlotWrite } from '../../../src/store/schedules.ts'
import { scheduleRow } from './schedule-row.ts'

const EVERY_MS = 10_000
const each = pattern({ cron: null, everyMs: EVERY_MS, tz: 'UTC', startAtMs: null, endAtMs: null })
const bySlot = (a: OpenSlot, b: OpenSlot) => a.slotMs - b.slotMs

/** One schedule and its slots, written as the store writes them. */
class Desk {
  atMs = 1_000_000
  readonly fromMs = this.atMs
  row: ScheduleRow
  readonly ended = new Map<number, { state: 'ran' | 'skipped'; through: number; count: number | null }>()
  readonly started: number[] = []

  constructor(missed: string, overlap: ScheduleRow['overlap'], jitterMs: number) {
    this.row = scheduleRow({ everyMs: EVERY_MS, missed, overlap, jitterMs, term: 0, fromMs: this.fromMs })
  }

  set(change: Partial<ScheduleRow>): void {
    this.row = { ...this.row, ...change, term: this.row.term + 1 }
  }

  end(slot: OpenSlot): void {
    this.set({ open: this.row.open.filter((other) => other !== slot) })
    this.ended.set(slot.slotMs, { state: 'ran', through: slot.slotMs, count: null })
  }

  apply(write: ScheduleWrite | null): void {
    if (!write) return
    for (const slot of write.slots) this.#put(slot)
    this.set({ lastSlotMs: Math.max(this.row.lastSlotMs ?? 0, write.lastSlotMs ?? 0) || null })
  }

  #put({ slotMs, dueMs, key, state, throughMs, count, begins }: SlotWrite): void {
    const known = this.row.open.find((slot) => slot.slotMs === slotMs)
    if (this.ended.has(slotMs)) return
    if (!known && this.row.lastSlotMs !== null && slotMs <= this.row.lastSlotMs) return
    const open = this.row.open.filter((slot) => slot !== known)
    if (state === 'skipped') this.ended.set(slotMs, { state, through: throughMs ?? slotMs, count })
    else {
      const begunMs = known?.begunMs ?? (begins ? this.atMs : null)
      open.push({ slotMs, dueMs, key, held: false, begunMs, standing: known?.standing ?? null })
    }
    this.set({ open: open.sort(bySlot) })
  }

  ports(): PlanPorts {
    return { pattern: each, atMs: this.atMs, chance: () => 0.5 }
  }

  audit(): void {
    this.apply(keep(this.row, this.ports()))
  }

  /** What a worker does with a hint that is due. */
  pop(slot: OpenSlot | undefined): void {
    if (!slot || slot.standing || slot.dueMs > this.atMs) return
    const { write, verdict } = begin(this.row, slot.key, this.ports())
    this.apply(write)
    const now = this.row.open.find(({ slotMs }) => slotMs === slot.slotMs)
    if (verdict !== 'begins' || !now) return
    if (slot.begunMs === null) this.started.push(slot.slotMs)
    this.set({ open: this.row.open.map((other) => (other === now ? { ...now, standing: 'claimed' } : other)) })
  }

  /** Somebody runs it by hand. */
  run(): void {
    // The store never makes one on an instant of the pattern.
    const slotMs = each.includes(this.atMs) ? this.atMs + 1 : this.atMs
    if (this.row.open.some((slot) => slot.slotMs === slotMs) || this.ended.has(slotMs)) return
    const key = slotKey('s', this.row.version, slotMs)
    const slot: OpenSlot = { slotMs, dueMs: this.atMs, key, held: false, begunMs: null, standing: null }
    this.set({ open: [...this.row.open, slot].sort(bySlot) })
  }

  /** Instants of the pattern up to `untilMs` that are not accounted for exactly once, and how often they are. */
  wrong(untilMs: number): [number, number][] {
    const found = new Map<number, number>()
    for (let at = each.next(this.fromMs) as number; at <= untilMs; at += EVERY_MS) found.set(at, 0)
    const add = (at: number) => found.has(at) && found.set(at, (found.get(at) as number) + 1)
    for (const { slotMs } of this.row.open) add(slotMs)
    for (const [slotMs, { through, count }] of this.ended) {
      const all = through > slotMs ? each.between(slotMs - 1, through, 1e6, 1e6).newest : [slotMs]
      if (through > slotMs && count !== null) expect(count).toBe(all.length)
      for (const at of all) add(at)
    }
    return [...found].filter(([, times]) => times !== 1)
  }
}

const acts = fc.array(
  fc.record({
    what: fc.constantFrom('pass', 'pass', 'sleep', 'audit', 'pop', 'pop', 'finish', 'crash', 'run', 'run'),
    n: fc.nat(1_000),
  }),
  { maxLength: 50 },
)

function play(desk: Desk, { what, n }: { what: string; n: number }): void {
  const some = (from: readonly OpenSlot[]) => from[n % Math.max(1, from.length)]
  const claimed = some(desk.row.open.filter(({ standing }) => standing === 'claimed'))
  if (what === 'pass') desk.atMs += n * 13
  if (what === 'sleep') desk.atMs += n * 100
  if (what === 'audit') desk.audit()
  if (what === 'pop') desk.pop(some(desk.row.open.filter(({ standing, dueMs }) => !standing && dueMs <= desk.atMs)))
  if (what === 'finish' && claimed) desk.end(claimed)
  if (what === 'crash' && claimed)
    desk.set({ open: desk.row.open.map((slot) => (slot === claimed ? { ...slot, standing: null } : slot)) })
  if (what === 'run') desk.run()
}

/** Nothing happens any more, and what is due runs. */
function calm(desk: Desk): void {
  for (let i = 0; i < 200; i++) {
    desk.audit()
    for (const slot of desk.row.open) if (slot.standing === 'claimed') desk.end(slot)
    const due = desk.row.open.find(({ dueMs, standing }) => !standing && dueMs <= desk.atMs)
    if (!due) break
    desk.pop(due)
  }
}

test('every instant of the pattern is accounted for once, and nothing begins twice', () => {
  const kinds = fc.record({
    missed: fc.constantFrom('once', 'skip', 'all 3'),
    overlap: fc.constantFrom<ScheduleRow['overlap']>('skip', 'queue', 'allow'),
    jitterMs: fc.constantFrom(0, 4_000),
  })
  fc.assert(
    fc.property(kinds, acts, ({ missed, overlap, jitterMs }, all) => {
      const desk = new Desk(missed, overlap, jitterMs)
      desk.audit()
      for (const act of all) {
        play(desk, act)
        expect(desk.wrong(desk.row.lastSlotMs ?? 0)).toEqual([])
      }
      calm(desk)
      expect(desk.wrong(desk.atMs)).toEqual([])
      expect(desk.row.open.filter(({ begunMs, slotMs }) => begunMs === null && each.includes(slotMs))).toHaveLength(1)
      expect(new Set(desk.started).size).toBe(desk.started.length)
    }),
    { numRuns: 1_000 },
  )
})

describe('a run by hand', () => {
  const at = (desk: Desk, slotMs: number) => desk.row.open.find((slot) => slot.slotMs === slotMs) as OpenSlot

  test('that begins first leaves what is overdue to be caught up', () => {
    const desk = new Desk('once', 'skip', 0)
    desk.audit()
    desk.atMs = 1_045_000
    desk.run()
    desk.pop(at(desk, 1_045_000))
    expect(desk.started).toEqual([1_045_000])
    expect(desk.row.lastSlotMs).toBeNull()
    desk.end(at(desk, 1_045_000))
    desk.pop(at(desk, 1_010_000))
    expect(desk.ended.get(1_010_000)).toEqual({ state: 'skipped', through: 1_030_000, count: 3 })
    expect(desk.row.open.map(({ slotMs }) => slotMs)).toEqual([1_040_000])
  })

  test('that waits does not keep the next instant from being made', () => {
    const desk = new Desk('once', 'skip', 0)
    desk.audit()
    desk.atMs = 1_010_500
    desk.run()
    desk.pop(at(desk, 1_010_000))
    expect(desk.row.open.map(({ slotMs }) => slotMs)).toEqual([1_010_000, 1_010_500, 1_020_000])
  })
})
