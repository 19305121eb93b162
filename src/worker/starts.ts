// Upper arrow, right before run: while the store has hardly a connection to spare, a call starts when there is one for its ctx.tx. A call
// that started without would do its work outside, fail at its commit, and start again, over and over.
import type { Ready } from './batch.ts'

export interface StartsPorts {
  /** See `Store.reserve`. */
  readonly reserve: (() => Promise<() => void> | null) | undefined
  /** True while these are our claims, and our lease is sure. */
  readonly ours: (entries: readonly Ready[]) => boolean
  /** Starts the call; `over` is called when its handler has ended. */
  readonly run: (entries: readonly Ready[], over: () => void) => void
}

/** Jobs of this process by whether their runs use ctx.tx; of one that has not run yet, nobody knows. */
export class TxUse {
  readonly #uses = new Map<string, boolean>()

  used(job: string): void {
    if (this.#uses.get(job) !== true) this.#uses.set(job, true)
  }

  /** A run of it has ended. */
  ended(job: string): void {
    if (!this.#uses.has(job)) this.#uses.set(job, false)
  }

  may(job: string): boolean {
    return this.#uses.get(job) ?? true
  }
}

/** Starts calls of one job; answers those that cannot start now. It waits only while connections are scarce. */
export async function start(
  { reserve, ours, run }: StartsPorts,
  uses: TxUse,
  job: string,
  calls: readonly (readonly Ready[])[],
): Promise<readonly (readonly Ready[])[]> {
  const ended = () => uses.ended(job)
  for (const [i, entries] of calls.entries()) {
    const reserving = uses.may(job) ? (reserve?.() ?? null) : null
    if (!reserving) {
      run(entries, ended)
      continue
    }
    const giveBack = await reserving.catch(() => undefined)
    if (!giveBack) return calls.slice(i)
    if (!ours(entries)) {
      giveBack()
      return calls.slice(i)
    }
    run(entries, () => {
      giveBack()
      ended()
    })
  }
  return []
}
