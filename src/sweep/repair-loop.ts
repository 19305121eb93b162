// Lower arrow, around it: rows of regrow's own tables that hold what regrow never writes are put right and told (L10). At the start, now
// and then, and at once when the store refused a statement for what a row holds: until then that statement fails for everybody.
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { LoopSpec } from '../base/loop.ts'
import type { EventMap } from '../job/event-map.ts'
import type { DamagedRow, Repair } from '../store/repair.ts'

/** Between two looks at the small tables: what is damaged without an error stands still for this long. */
const everyMs = 60_000
/** After a look that found nothing: all tables may have been read whole, and what made it look may go on for another reason. */
const restAfterMs = 5_000

export interface RepairPorts {
  readonly clock: Clock
  readonly events: Events<EventMap>
  /** Missing: the store cannot tell such rows. */
  readonly repair?: Repair | undefined
  /** Called after these rows were put right. */
  readonly repaired: (rows: readonly DamagedRow[]) => void
}

/** `suspect`: the store refused a statement for what a row holds; or, not `whole`, a background loop failed for another reason than that. */
export function repairLoop({
  clock,
  events,
  repair,
  repaired,
}: RepairPorts): LoopSpec & { suspect(whole: boolean): void } {
  let suspected: 'no' | 'small' | 'whole' = 'no'
  let restUntil = Number.NEGATIVE_INFINITY
  return {
    name: 'repair',
    suspect: (whole) => {
      suspected = whole || suspected === 'whole' ? 'whole' : 'small'
    },
    async tick() {
      if (!repair) return everyMs
      const restMs = restUntil - clock.now()
      if (suspected !== 'no' && restMs > 0) return restMs
      const whole = suspected === 'whole'
      if (suspected !== 'no') restUntil = clock.now() + restAfterMs
      suspected = 'no'
      const rows = await repair({ whole, mend: true })
      if (rows.length > 0) {
        // There may be more: those beyond the first thousand, or one that was locked.
        restUntil = Number.NEGATIVE_INFINITY
        events.emit('store.repaired', { rows })
        repaired(rows)
      }
      return everyMs
    },
  }
}
