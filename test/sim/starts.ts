// What the oracle looks at when a handler starts, beside its take and check: that the claim is still there, that it is time, and
// that a suspect has its process to itself.
import type { Part } from './cast.ts'
import type { Oracle } from './oracle.ts'
import { beginningMs, type SimProcess } from './sim-process.ts'
import type { LedgerRow } from './store/schema.ts'
import type { Standing } from './user.ts'

export interface StartsSurroundings {
  readonly now: () => number
  readonly oracle: () => Oracle
  readonly ledger: (id: string) => LedgerRow | undefined
  readonly standing: (id: string) => Standing | undefined
  /** True when the store crashed in this history: a take is asynchronous, and may be gone with it. */
  readonly crashed: () => boolean
}

/** Looks at one start; `claim`: what the process thinks it has. */
export function lookAtStart(
  around: StartsSurroundings,
  process: SimProcess,
  part: Part,
  key: string,
  claim: { readonly holder: string; readonly take: number } | undefined,
): void {
  const oracle = around.oracle()
  const id = `${part.name}\u0000${key}`
  const row = around.ledger(id)
  const which = `${process.name} starts ${key} of ${part.name}`
  if (claim && !around.crashed()) {
    const held = row?.holder === claim.holder && row.take === claim.take
    // Nobody starts on a lease that may be over, however long it was frozen.
    oracle.check('S2', held, () => `${which} with a claim that is no longer there`)
  }
  const dueMs = part.input ? around.standing(id)?.dueMs : undefined
  if (dueMs !== undefined) {
    const early = dueMs - beginningMs - around.now()
    oracle.check('S2', early <= 1, () => `${which} ${early} ms before its time (M40)`)
  }
  lookAtCompany(around, process, id, which)
}

/** M35: a suspect runs alone, or its neighbours would be blamed for its crash. */
function lookAtCompany({ oracle, ledger }: StartsSurroundings, process: SimProcess, id: string, which: string): void {
  const beside = [...(oracle().running.get(process)?.keys() ?? [])].filter((other) => other !== id)
  const alone = ledger(id)?.solo === true
  const disturbed = beside.filter((other) => ledger(other)?.solo === true)
  if (!alone && disturbed.length === 0) return
  oracle().check(
    'L9',
    beside.length === 0,
    () => `${which} beside ${beside.join(', ').replaceAll('\u0000', ' ')}, and one of them is a suspect`,
  )
}
