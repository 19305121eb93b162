// Around the settle: an outcome that the store refuses must neither repeat its neighbours nor itself for ever (M36). The batch is halved
// until that outcome is alone; a failure that holds nothing of the handler's is written in its place.
import { bisect } from '../base/bisect.ts'
import type { Clock } from '../base/clock.ts'
import type { Events } from '../base/events.ts'
import type { Random } from '../base/random.ts'
import { retry } from '../base/retry.ts'
import type { EventMap } from '../job/event-map.ts'
import { refused } from '../job/outcome.ts'
import { type Classify, isPassing, type StoreErrorKind } from '../store/errors.ts'
import type { Claims } from './held-claims.ts'
import type { Ended, Settled } from './stages.ts'

export interface SettlePorts {
  readonly clock: Clock
  readonly random: Random
  readonly events: Events<EventMap>
  readonly claims: Claims
  readonly classify: Classify
  /** Aborts when the worker has stopped: nothing is tried again after that. */
  readonly over: AbortSignal
  /** Settles a part of a batch. */
  readonly send: (part: readonly Ended[]) => Promise<Settled[]>
}

/** Settles a batch. A store that is away is nobody's failure: claims are kept until it answers, or until they are another worker's. */
export function settleUntilRecorded(ports: SettlePorts, batch: readonly Ended[]): Promise<Settled[]> {
  const { clock, random, events, claims, classify, over, send } = ports
  const { holder } = claims
  const tell = (error: unknown) => events.emit('loop.failed', { loop: 'settle', error })
  const again = (error: unknown, tries: number) => {
    const may = isPassing(classify(error)) && holder === claims.holder
    // Told at once: it may be long before it answers.
    if (may && tries === 1) tell(error)
    return may
  }
  return settleApart(
    batch,
    (part) => retry(clock, random, { delayMs: 100, again, signal: over }, () => send(part)),
    classify,
    tell,
  )
}

/** `send` settles a part of the batch; `failed` hears why a key could not be written in any form. One result per run, in order. */
export async function settleApart(
  batch: readonly Ended[],
  send: (part: readonly Ended[]) => Promise<Settled[]>,
  classify: Classify,
  failed: (error: unknown) => void,
): Promise<Settled[]> {
  const { answers, broken } = await bisect(batch, send, (error) => isOutcomesFault(classify(error)))
  if (broken.size === 0) return answers.length === 1 ? (answers[0] as Settled[]) : answers.flat()
  const settled = new Map(answers.flat().map((each) => [each.ended.entry.take, each]))
  for (const [ended, error] of broken) {
    const instead = { ...ended, outcome: refused(error) }
    const [each] = await send([instead]).catch((cause): Settled[] => {
      failed(cause)
      // The claim is forgotten like a lost one: the next beat gives it back.
      return [{ ended: instead, settlement: { state: 'done' }, held: false }]
    })
    settled.set(ended.entry.take, each as Settled)
  }
  return batch.map(({ entry }) => settled.get(entry.take) as Settled)
}

/** The store refuses what it holds, or it could not even be sent. */
const isOutcomesFault = (kind: StoreErrorKind) => kind === 'bad_row' || kind === 'foreign'
