// Around the settle: an outcome that the store refuses must neither repeat its neighbours nor itself for ever (M36). The batch is halved
// until that outcome is alone; a failure that holds nothing of the handler's is written in its place.
import { bisect } from '../base/bisect.ts'
import { messageOf, RegrowError } from '../base/errors.ts'
import { isRefused } from '../store/guarded.ts'
import type { Ended, Settled } from './batch.ts'

/** `send` settles a part of the batch; `failed` hears why a key could not be written in any form. One result per run, in order. */
export async function settleApart(
  batch: readonly Ended[],
  send: (part: readonly Ended[]) => Promise<Settled[]>,
  failed: (error: unknown) => void,
): Promise<Settled[]> {
  const { answers, broken } = await bisect(batch, send, isRefused)
  if (broken.size === 0) return answers.length === 1 ? (answers[0] as Settled[]) : answers.flat()
  const settled = new Map(answers.flat().map((each) => [each.ended.entry.take, each]))
  for (const [ended, error] of broken) {
    const instead = replaced(ended, error)
    const [each] = await send([instead]).catch((cause): Settled[] => {
      failed(cause)
      // The claim is forgotten like a lost one: the next beat gives it back.
      return [{ ended: instead, settlement: { state: 'done' }, held: false }]
    })
    settled.set(ended.entry.take, each as Settled)
  }
  return batch.map(({ entry }) => settled.get(entry.take) as Settled)
}

/** The same run with an outcome that can be written wherever anything can. */
function replaced(ended: Ended, cause: unknown): Ended {
  const error = new RegrowError(
    'outcome_refused',
    `The outcome of this run could not be written: ${messageOf(cause)}`,
    'What it asked for is not recorded, and this counts as a failure of the run. Look at the error or reason that the handler gave.',
  )
  error.stack = error.message
  return { ...ended, outcome: { kind: 'failure', error } }
}
