// What every caller of a shared statement is told: its own report, after the commit.
import type { EnqueueReport } from '../job/declaration.ts'
import type { Hint } from '../queue/hint.ts'
import type { Push } from '../queue/push.ts'
import type { IntentAnswer, IntentRow, Intents } from '../store/intents.ts'
import { idInUse } from './intents.ts'

/** One caller: its row, and where its report goes. */
export interface Caller {
  readonly row: IntentRow
  readonly jitterMs: number
  readonly resolve: (report: EnqueueReport) => void
  readonly reject: (error: unknown) => void
}

export interface CallerPorts {
  readonly push: Push
  readonly intents: Pick<Intents, 'record'>
}

/**
 * Records the rows of these callers in one statement. `committed` is called before anything else can fail; the hints are not waited
 * for: the next statement may leave meanwhile.
 */
export async function recordFor(
  ports: CallerPorts,
  job: string,
  callers: readonly Caller[],
  committed: () => void,
): Promise<void> {
  const rows = callers.map(({ row }) => row)
  const answers = await ports.intents.record(job, rows)
  committed()
  void hint(ports.push, job, callers, answers)
}

async function hint(
  push: Push,
  job: string,
  callers: readonly Caller[],
  answers: readonly IntentAnswer[],
): Promise<void> {
  const open: [Caller, IntentAnswer, Hint][] = []
  for (const [i, caller] of callers.entries()) {
    const answer = answers[i] as IntentAnswer
    const delayMs = answer.waitMs + caller.jitterMs
    if (answer.usedBy !== null) caller.reject(idInUse(job, answer.id, answer.usedBy))
    else if (answer.paused) caller.resolve(report(answer, 'held'))
    else open.push([caller, answer, { job, key: answer.heldBy, delayMs, fresh: true }])
  }
  try {
    const all = await push(open.map(([, , hint]) => hint))
    const told = ([caller, answer]: (typeof open)[number], dropped: boolean) =>
      // Work that was there before is merged into it, also when its hint was popped already.
      caller.resolve(report(answer, dropped ? 'dropped' : answer.added ? 'added' : 'merged'))
    if (all.dropped === 0 || all.dropped === open.length) for (const each of open) told(each, all.dropped > 0)
    // The queue tells sums only. Whose hint it has not, a second push tells; the others it leaves as they are.
    else await Promise.all(open.map(async (each) => told(each, (await push([each[2]])).dropped > 0)))
  } catch (error) {
    for (const [{ reject }] of open) reject(error)
  }
}

const report = (answer: IntentAnswer, word: 'added' | 'merged' | 'dropped' | 'held'): EnqueueReport => ({
  added: word === 'added' ? 1 : 0,
  merged: word === 'merged' ? 1 : 0,
  dropped: word === 'dropped' ? 1 : 0,
  held: word === 'held' ? 1 : 0,
  keys: [answer.heldBy],
})

/** What no two rows of one statement may share. An id that was made for its row belongs to that row alone. */
export const namesOf = ({ id, idIsNew, uniqueKey }: IntentRow): string[] => [
  ...(idIsNew ? [] : [`id ${id}`]),
  ...(uniqueKey === null ? [] : [`unique ${uniqueKey}`]),
]
