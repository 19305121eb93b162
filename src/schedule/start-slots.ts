// Upper arrow, between check and run of slots: each of them begins, is skipped, or waits for an earlier one; and the next slot of
// its schedule is made, and hinted, before its handler starts (L7): timing never waits for a sweep.

import type { Slot } from '../job/schedule.ts'
import { slotCodec } from '../job/schedule.ts'
import { begin, type Verdict } from './plan.ts'
import { type KeepPorts, keeping } from './reconcile.ts'

/** What becomes of slots that were taken and checked, by key. One that this code cannot decide about is left to others: `gone`. */
export type BeginSlots = (keys: readonly string[]) => Promise<ReadonlyMap<string, Verdict>>

/** Slots of one schedule go one after the other: each decision sees the one before. */
export function beginning(ports: KeepPorts): BeginSlots {
  return async (keys) => {
    const verdicts = new Map<string, Verdict>(keys.map((key) => [key, 'gone']))
    let left = [...keys].sort(bySlot)
    while (left.length > 0) {
      const first = new Map<string, string>()
      for (const key of left) if (!first.has(scheduleOf(key))) first.set(scheduleOf(key), key)
      const answers = await keeping(ports, [...first.keys()], (row, plan) => {
        const idle = new Set(keys.filter((key) => verdicts.get(key) !== 'begins'))
        const { write, verdict } = begin(row, first.get(row.name) as string, plan, idle)
        return { write, value: verdict }
      })
      for (const [name, key] of first) verdicts.set(key, answers.get(name)?.value ?? 'gone')
      const asked = new Set(first.values())
      left = left.filter((key) => !asked.has(key))
    }
    return verdicts
  }
}

const slotOf = (key: string) => slotCodec.decode(key) as Slot
const scheduleOf = (key: string) => slotOf(key).schedule
const bySlot = (a: string, b: string) => slotOf(a).at.getTime() - slotOf(b).at.getTime()
