// What every queue of hints has to keep, as cases: give it your driver, loop over what comes back.
import { type Clock, systemClock } from '../drivers/index.ts'
import type { QueueDriver } from '../index.ts'
import type { QueueBounds } from '../queue/hint.ts'
import type { Queue } from '../queue/queue.ts'
import { boundsCases } from './queue/bounds.ts'
import { canaryCases } from './queue/canary.ts'
import { closingCases } from './queue/closing.ts'
import type { QueueContext } from './queue/context.ts'
import { dedupeCases } from './queue/dedupe.ts'
import { examineCases } from './queue/examine.ts'
import { jobsCases } from './queue/jobs.ts'
import { keysCases } from './queue/keys.ts'
import { lanesCases } from './queue/lanes.ts'
import { modelCases } from './queue/model.ts'
import { orderCases } from './queue/order.ts'
import { peekCases } from './queue/peek.ts'
import { togetherCases } from './queue/together.ts'
import { waitingCases } from './queue/waiting.ts'
import { bindCases, type Case, type RunnableCase, type Skip } from './suite.ts'

/** Every rule of a queue, by name. */
export const queueCases: readonly Case<QueueContext>[] = [
  ...orderCases,
  ...dedupeCases,
  ...lanesCases,
  ...jobsCases,
  ...boundsCases,
  ...waitingCases,
  ...togetherCases,
  ...keysCases,
  ...canaryCases,
  ...peekCases,
  ...examineCases,
  ...closingCases,
  ...modelCases,
]

/** The queue to be judged. */
export interface QueueSubject {
  /**
   * Opens the queue with these bounds, as a process would. Called several times in one case: what is `shared` then shows
   * the same hints each time. The suite wipes it before each case and closes what it opened.
   */
  open(bounds: QueueBounds, surroundings: Parameters<QueueDriver['open']>[0]): Promise<Queue>
  /** Cases that this queue does not pass, each with its reason. Defaults to none. */
  readonly skip?: readonly Skip[]
  /** Seed of the random cases. Defaults to the time. */
  readonly seed?: number
  /** Where the seed is told. Defaults to `console.log`. */
  readonly log?: (line: string) => void
}

/** The cases of a queue, bound to yours. Cases run one after another: they share its hints. */
export function queueSuite({
  open,
  skip = [],
  seed = systemClock.wall(),
  log = console.log,
}: QueueSubject): RunnableCase[] {
  return bindCases(queueCases, skip, async (run) => {
    const opened: Queue[] = []
    let given = { maxHints: 1_000_000, maxDelayed: 1_000_000 }
    const connect = async (clock: Clock) => {
      const queue = await open(given, { clock, identity: async () => 'a store of the suite' })
      opened.push(queue)
      return queue
    }
    try {
      await run({
        clock: systemClock,
        seed,
        log,
        open: async (bounds = {}, clock = systemClock) => {
          given = { ...given, ...bounds }
          const queue = await connect(clock)
          await queue.wipe()
          return queue
        },
        another: async (clock = systemClock) => (opened[0] && !opened[0].shared ? opened[0] : connect(clock)),
      })
    } finally {
      for (const queue of opened) await queue.close()
    }
  })
}
