// What the handler of a slot does: as its instant says, told to the oracle from start to end, with one effect per instant.
import type { Context, Handler } from '../../src/job/handler.ts'
import { type Slot, slotCodec } from '../../src/job/schedule.ts'
import type { Part } from './cast.ts'
import type { Stage } from './handlers.ts'
import type { SimProcess } from './sim-process.ts'
import type { AppTx } from './store/database.ts'

/** Longer than an interval: the next instants come meanwhile. */
const slowMs = 5_000

/** The function of a handler of slots. */
export function slotHandlerOf(stage: Stage, process: SimProcess, part: Part): Handler['run'] {
  return (async (slot: Slot, ctx: Context<AppTx>) => {
    const key = slotCodec.encode(slot)
    const deed = stage.deedOf(part.name, key)
    stage.oracle.started(process, part, key)
    try {
      if (deed === 'slow') await process.clock.sleep(slowMs, ctx.signal)
      if (deed === 'gives up') return ctx.quarantine('it gives up')
      if (deed === 'fails twice' && stage.tried(part.name, key) <= 2) throw new Error('not yet')
      // By the instant, not by the key: whatever its version, an instant has one effect (S9).
      const effect = `${slot.schedule}|${slot.at.getTime()}|0|${stage.next()}`
      await ctx.tx((tx) => tx.put('effects', effect, {}))
    } finally {
      stage.oracle.ended(process, part.name, key)
    }
  }) as Handler['run']
}
