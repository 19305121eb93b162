// Upper arrow, step run: a key that may start in; a run that is over out. A handler's error never leaves this file.
import { RegrowError } from '../base/errors.ts'
import type { Context } from '../job/handler.ts'
import type { Job } from '../job/job.ts'
import { done } from '../job/outcome.ts'
import type { Store } from '../store/store.ts'
import type { Ended, Taken } from './batch.ts'
import type { Claims } from './claims.ts'

type Truth = Pick<Store, 'ledger' | 'transaction'>

export async function run({ ledger, transaction }: Truth, claims: Claims, job: Job, entry: Taken): Promise<Ended> {
  const { hint, take, failures, crashes } = entry
  let settled = false
  const tx: Context['tx'] = async (fn) => {
    if (settled) throw new RegrowError('tx_twice', 'ctx.tx was called again after it ended the run', 'Do all in one.')
    const value = await transaction(async (tx) => {
      const value = await fn(tx)
      // S4: the fence is the last statement before COMMIT; a lost claim rolls back the effects.
      const held = await ledger.settle(claims.holder, [{ job: job.name, key: hint.key, take, ...done }], tx)
      if (held.has(take)) return value
      throw new RegrowError('lease_lost', 'The claim of this run is gone; nothing was committed', 'Let it end.')
    })
    settled = true
    return value
  }
  try {
    const idempotencyKey = `${job.name}/${hint.key}`
    await job.run(hint.key, { attempt: failures + crashes + 1, idempotencyKey, signal: claims.signal(take), tx })
    return { entry, outcome: { kind: 'success' }, settled }
  } catch (error) {
    // What is thrown after ctx.tx committed cannot undo it.
    return { entry, outcome: settled ? { kind: 'success' } : { kind: 'failure', error }, settled }
  }
}
