// What becomes of instants, as decisions alone: a schedule in memory, acted upon at random. Whatever happens, every instant is
// accounted for exactly once.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pattern } from '../../../src/schedule/pattern.ts'
import { begin, keep } from '../../../src/schedule/plan.ts'
import type { OpenSlot, ScheduleRow, ScheduleWrite } from '../../../src/store/schedules.ts'
import { scheduleRow } from './schedule-row.ts'

interface Recorded {
  slotMs: number
  throughMs: number
  count: number | null
  state: 'ran' | 'skipped'
  reason: string | null
}

/** A schedule as the statements keep it. */
class Kept {
  nowMs: number
  everyMs: number
  version = 1
  term = 0
  fromMs: number
  lastSlotMs: number | null = null
  paused = false
  readonly open = new Map<number, OpenSlot>()
  readonly recorded: Recorded[] = []
  readonly started: number[] = []
  readonly missed: string
  readonly overlap: ScheduleRow['overlap']

  constructor(startMs: number, everyMs: number, missed: string, overlap: ScheduleRow['overlap']) {
    this.nowMs = startMs
    this.fromMs = startMs
    this.everyMs = everyMs
    this.missed = missed
    this.overlap = overlap
  }

  get pattern() {
    return pattern({ cron: null, everyMs: this.everyMs, tz: 'UTC', startAtMs: null, endAtMs: null })
  }

  row(): ScheduleRow {
    const { everyMs, missed, overlap, version, term, fromMs, lastSlotMs, paused } = this
    const open = [...this.open.values()].sort((a, b) => a.slotMs - b.slotMs)
    return scheduleRow({ everyMs, missed, overlap, version, term, fromMs, lastSlotMs, paused, open })
  }

  ports() {
    return { pattern: this.pattern, atMs: this.nowMs, chance: () => 0 }
  }

  write(write: ScheduleWrite | null) {
    if (!write) return
    this.term++
    const before = this.lastSlotMs
    if (write.lastSlotMs !== null) this.lastSlotMs = Math.max(this.lastSlotMs ?? write.lastSlotMs, write.lastSlotMs)
    const slots = new Set(write.slots.map(({ slotMs }) => slotMs))
    if (slots.size < write.slots.length) throw new Error('one instant twice in a write')
    for (const slot of write.slots) {
      const known = this.open.get(slot.slotMs)
      const replaced = this.recorded.findIndex(({ slotMs, reason }) => slotMs === slot.slotMs && reason === 'replaced')
      if (!known && before !== null && slot.slotMs <= before) throw new Error('a slot at or before last_slot')
      if (!known && replaced < 0 && this.recorded.some(({ slotMs }) => slotMs === slot.slotMs))
        throw new Error(`the instant ${slot.slotMs} was recorded before`)
      if (replaced >= 0) this.recorded.splice(replaced, 1)
      this.open.delete(slot.slotMs)
      if (slot.state === 'withdrawn') continue
      if (slot.throughMs !== null) {
        const { throughMs } = slot
        const covered = this.recorded.filter(
          ({ slotMs, reason }) => reason === 'replaced' && slotMs > slot.slotMs && slotMs <= throughMs,
        )
        for (const each of covered) this.recorded.splice(this.recorded.indexOf(each), 1)
      }
      if (slot.state === 'skipped') {
        if (known?.begunMs != null) throw new Error('a slot that has begun was skipped')
        const { slotMs, throughMs, count, reason } = slot
        this.recorded.push({ slotMs, throughMs: throughMs ?? slotMs, count, state: 'skipped', reason })
      } else {
        const begunMs = known?.begunMs ?? (slot.begins ? this.nowMs : null)
        const standing = slot.begins ? 'claimed' : null
        this.open.set(slot.slotMs, {
          slotMs: slot.slotMs,
          dueMs: slot.dueMs,
          key: slot.key,
          held: false,
          begunMs,
          standing,
        })
      }
    }
  }

  audit(reason?: 'paused') {
    this.write(keep(this.row(), this.ports(), reason))
  }

  /** A worker takes the slot that is due and first in the given order. */
  begin(which: number) {
    const due = [...this.open.values()].filter(({ dueMs, standing, held }) => dueMs <= this.nowMs && !standing && !held)
    const slot = due[which % Math.max(1, due.length)]
    if (!slot || this.paused) return
    const { write, verdict } = begin(this.row(), slot.key, this.ports())
    this.write(write)
    if (verdict !== 'begins') return
    this.open.set(slot.slotMs, { ...(this.open.get(slot.slotMs) as OpenSlot), standing: 'claimed' })
    this.started.push(slot.slotMs)
    const claimed = [...this.open.values()].filter(({ standing }) => standing === 'claimed')
    if (this.overlap !== 'allow' && claimed.length > 1) throw new Error('two slots run at the same time')
  }

  settle(which: number, ran: boolean) {
    const claimed = [...this.open.values()].filter(({ standing }) => standing === 'claimed')
    const slot = claimed[which % Math.max(1, claimed.length)]
    if (!slot) return
    if (!ran) return void this.open.set(slot.slotMs, { ...slot, standing: null })
    this.open.delete(slot.slotMs)
    this.recorded.push({ slotMs: slot.slotMs, throughMs: slot.slotMs, count: null, state: 'ran', reason: null })
  }

  edit(everyMs: number) {
    this.everyMs = everyMs
    this.version++
    this.term++
    this.fromMs = this.nowMs
    for (const [at, slot] of this.open) if (slot.begunMs === null) this.open.set(at, { ...slot, held: true })
  }

  resume() {
    if (!this.paused) return
    this.paused = false
    for (const [at, slot] of this.open)
      if (slot.begunMs === null && at <= this.nowMs) {
        this.open.delete(at)
        this.recorded.push({ slotMs: at, throughMs: at, count: null, state: 'skipped', reason: 'paused' })
        this.lastSlotMs = Math.max(this.lastSlotMs ?? at, at)
      }
    this.audit('paused')
  }

  /** Instants of the present pattern that have come, and how many rows account for each. */
  account(sinceMs: number): Map<number, number> {
    const times = new Map<number, number>()
    for (let at = this.pattern.next(sinceMs); at !== null && at <= this.nowMs; at = this.pattern.next(at)) {
      const rows = this.recorded.filter(
        ({ slotMs, throughMs }) => slotMs <= (at as number) && (at as number) <= throughMs,
      )
      times.set(at, rows.length + (this.open.has(at) ? 1 : 0))
    }
    return times
  }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), n: fc.integer({ min: 1, max: 9_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), n: fc.integer({ min: 60_000, max: 3_000_000 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('begin' as const), n: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('ran' as const, 'crash' as const), n: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('audit' as const, 'pause' as const, 'resume' as const), n: fc.nat(1) }),
  },
)
const made = fc.record({
  everyMs: fc.constantFrom(1_000, 3_000, 60_000),
  missed: fc.constantFrom('once', 'skip', 'all 1', 'all 3'),
  overlap: fc.constantFrom('skip' as const, 'queue' as const, 'allow' as const),
  startMs: fc.integer({ min: 1_767_225_600_000, max: 1_767_225_700_000 }),
})

function act(kept: Kept, steps: readonly { do: string; n: number }[]) {
  for (const { do: what, n } of steps) {
    if (what === 'pass') kept.nowMs += n
    if (what === 'begin') kept.begin(n)
    if (what === 'ran' || what === 'crash') kept.settle(n, what === 'ran')
    if (what === 'audit') kept.audit()
    if (what === 'pause') kept.paused = true
    if (what === 'resume') kept.resume()
    if (what === 'edit') {
      kept.edit([1_000, 2_000, 3_000, 7_000, 60_000][n % 5] as number)
      kept.audit()
    }
  }
}

/** Everything that waits is run to its end. */
function calm(kept: Kept) {
  kept.resume()
  for (let round = 0; round < 50; round++) {
    kept.audit()
    kept.settle(0, true)
    kept.begin(0)
  }
  for (let round = 0; round < 10; round++) kept.settle(0, true)
}

const seed = Math.floor(Math.random() * 2 ** 31)

test(`every instant runs or is skipped, exactly once, whatever happens (seed ${seed})`, () => {
  fc.assert(
    fc.property(made, fc.array(step, { maxLength: 60 }), ({ startMs, everyMs, missed, overlap }, steps) => {
      const kept = new Kept(startMs, everyMs, missed, overlap)
      kept.audit()
      act(kept, steps)
      calm(kept)
      const wrong = [...kept.account(startMs)].filter(([, times]) => times !== 1)
      expect(wrong).toEqual([])
      // There is one that waits for the future, and only one.
      const waiting = [...kept.open.values()].filter(({ slotMs }) => slotMs > kept.nowMs)
      expect(waiting).toHaveLength(1)
      expect(kept.open.size).toBe(1)
    }),
    { numRuns: 500, seed },
  )
})

test(`instants begin in their order, also those that catch up, whichever is popped first (seed ${seed})`, () => {
  fc.assert(
    fc.property(made, fc.array(step, { maxLength: 60 }), ({ startMs, everyMs, missed, overlap }, steps) => {
      const kept = new Kept(startMs, everyMs, missed, overlap)
      kept.audit()
      act(kept, steps)
      calm(kept)
      // One that crashed begins again: its first start counts.
      const first = [...new Set(kept.started)]
      expect(first).toEqual([...first].sort((a, b) => a - b))
    }),
    { numRuns: 500, seed },
  )
})

test(`an edit at any time runs no instant twice, and the schedule goes on (seed ${seed})`, () => {
  const edits = { weight: 2, arbitrary: fc.record({ do: fc.constant('edit' as const), n: fc.nat(4) }) }
  const steps = fc.array(fc.oneof({ weight: 13, arbitrary: step }, edits), { maxLength: 60 })
  fc.assert(
    fc.property(made, steps, ({ startMs, everyMs, missed, overlap }, steps) => {
      const kept = new Kept(startMs, everyMs, missed, overlap)
      kept.audit()
      act(kept, steps)
      calm(kept)
      const ran = kept.recorded.filter(({ state }) => state === 'ran').map(({ slotMs }) => slotMs)
      expect(new Set(ran).size).toBe(ran.length)
      const twice = [...kept.account(kept.fromMs)].filter(([, times]) => times > 1)
      expect(twice).toEqual([])
      expect(kept.open.size).toBe(1)
    }),
    { numRuns: 500, seed },
  )
})
