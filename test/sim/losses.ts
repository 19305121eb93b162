// What the oracle looks at when a queue is declared lost: who may say so, how often, and where the passes begin that follow.
import type { Oracle } from './oracle.ts'
import type { Change } from './store/engine.ts'
import type { MarkRow, SweepRow } from './store/schema.ts'

export class Losses {
  readonly #oracle: Oracle
  /** False: each process has a queue of its own. */
  readonly #shared: boolean
  readonly #declared = new Set<number>()
  /** Jobs whose first pass after the last loss has not begun. */
  readonly #anew = new Set<string>()

  constructor(oracle: Oracle, shared: boolean) {
    this.#oracle = oracle
    this.#shared = shared
  }

  /** Somebody says that the queue is lost. */
  told({ epoch }: { readonly epoch: number }): void {
    const { check } = this.#looks()
    check('S17', this.#shared, () => 'a queue of one process was declared lost for all (M38)')
    check('S17', !this.#declared.has(epoch), () => `two have declared the loss that began epoch ${epoch} (M27)`)
    this.#declared.add(epoch)
  }

  readonly committed = ({ table, id, before, after, statement }: Change): void => {
    if (table === 'marks' && statement === 'restart') this.#anew.clear()
    if (table === 'sweeps' && statement === 'marks.lose') this.#anew.add(id)
    const [was, is] = [before as SweepRow | undefined, after as SweepRow | MarkRow | undefined]
    if (table !== 'sweeps' || statement !== 'sweeps.turn' || !is || !('cursor' in is)) return
    if (!this.#anew.delete(id)) return
    const from = was?.cursor ?? null
    this.#looks().check('L4', from === null, () => `the first pass of ${id} after a loss begins at ${from} (M42)`)
  }

  #looks(): { check: Oracle['check'] } {
    return { check: this.#oracle.check.bind(this.#oracle) }
  }
}
