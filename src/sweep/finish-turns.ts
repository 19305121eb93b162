// Lower arrow: turns that end at about the same time are ended in one statement. Most passes find nothing, and the end of their turn
// would cost more than their page.
import { Batcher } from '../base/batcher.ts'
import { bisect } from '../base/bisect.ts'
import type { Clock } from '../base/clock.ts'
import { groupBy } from '../base/group-by.ts'
import { type Classify, isBadRow } from '../store/errors.ts'
import type { EndedTurn, Healed, Sweeps } from '../store/sweeps.ts'

/** Turns that end in one statement at most. */
const togetherMax = 200

interface Ending {
  readonly owner: string
  readonly ended: EndedTurn
}

interface Written {
  readonly healed: readonly Healed[]
  /** Why the store refused this one. */
  readonly error?: unknown
}

/** Ends a turn, and answers what `Sweeps.end` does; one that the store refuses rejects by itself (M36). */
export function turnEnder(
  clock: Clock,
  sweeps: Pick<Sweeps, 'end'>,
  classify: Classify,
): (owner: string, ended: EndedTurn) => Promise<readonly Healed[]> {
  const endings = new Batcher<Ending, Written>(clock, togetherMax, async (items) => {
    const written = new Map<Ending, Written>()
    for (const [owner, some] of groupBy(items, (item) => item.owner)) {
      const end = (part: readonly Ending[]) =>
        sweeps.end(
          owner,
          part.map(({ ended }) => ended),
        )
      const { answers, broken } = await bisect(some, end, (error) => isBadRow(classify(error)))
      for (const [item, error] of broken) written.set(item, { healed: [], error })
      // A loss is healed by all of these turns together, and told once.
      const teller = some.find((item) => !broken.has(item))
      if (teller) written.set(teller, { healed: answers.flat() })
    }
    return items.map((item) => written.get(item) ?? { healed: [] })
  })
  return async (owner, ended) => {
    const [{ healed, error }] = (await endings.add([{ owner, ended }])) as readonly [Written]
    if (error !== undefined) throw error
    return healed
  }
}
