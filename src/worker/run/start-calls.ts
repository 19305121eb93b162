// Upper arrow, right before run: while the store has hardly a connection to spare, a call starts when there is one for its ctx.tx. A call
// that started without would do its work outside, fail at its commit, and start again, over and over.
import type { Handler } from '../../job/handler.ts'
import type { Ready } from '../stages.ts'

export interface StartsPorts {
  /** See `StoreConnections.reserve`. */
  readonly reserve: (() => Promise<() => void> | null) | undefined
  /** True while these are our claims, and our lease is sure. */
  readonly ours: (entries: readonly Ready[]) => boolean
  /** Starts the call; `over` is called when its handler has ended. */
  readonly run: (handler: Handler, entries: readonly Ready[], over: () => void) => void
  readonly uses: TxUse
}

/** Whether runs of a job use ctx.tx, as far as this process has seen; a job that has not run yet may. */
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
  { reserve, ours, run, uses }: StartsPorts,
  handler: Handler,
  calls: readonly (readonly Ready[])[],
): Promise<readonly (readonly Ready[])[]> {
  const { name } = handler.job
  const ended = () => uses.ended(name)
  for (const [i, entries] of calls.entries()) {
    const reserving = uses.may(name) ? (reserve?.() ?? null) : null
    if (!reserving) {
      run(handler, entries, ended)
      continue
    }
    const giveBack = await reserving.catch(() => undefined)
    if (!giveBack) return calls.slice(i)
    if (!ours(entries)) {
      giveBack()
      return calls.slice(i)
    }
    run(handler, entries, () => {
      giveBack()
      ended()
    })
  }
  return []
}
