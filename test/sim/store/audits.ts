// The slow audit of the ledger in the model.
import type { Audits } from '../../../src/store/ledger-audit.ts'
import { byBytes } from './order.ts'
import { type LedgerRow, ledgerId, type Schema } from './schema.ts'
import { since } from './time.ts'

const isWaiting = ({ holder, state }: LedgerRow) => holder === null && state === 'retrying'

/** The audits port. */
export function simAudits(schema: Schema): Audits {
  const { engine, ledger, ledgerByJob } = schema
  return {
    page: async (job, after, limit) => {
      const at = schema.now()
      return [...ledger.found(ledgerByJob, job)]
        .filter(({ key }) => after === null || byBytes(key, after) > 0)
        .sort((a, b) => byBytes(a.key, b.key))
        .slice(0, limit)
        .map((row) => ({
          key: row.key,
          waiting: isWaiting(row),
          idleMs: since(at, row.updatedAt),
          unseenMs: row.unseenAt === null ? null : since(at, row.unseenAt),
        }))
    },
    write: (job, { forget, unseen, seen }) =>
      engine.autocommit('audits.write', function* (session) {
        const at = schema.now()
        const words = { forget, unseen, seen }
        const said = Object.entries(words).flatMap(([word, keys]) => keys.map((key) => ({ key, word })))
        let forgotten = 0
        for (const { key, word } of said.sort((a, b) => byBytes(a.key, b.key))) {
          const id = ledgerId(job, key)
          // Looked at once more: nobody has it, it waits, and an audit had noted it before.
          const may = (row: LedgerRow) => isWaiting(row) && (word !== 'forget' || row.unseenAt !== null)
          const row = yield* session.hold(ledger, id, may)
          if (!row) continue
          if (word === 'forget') forgotten++
          session.set(ledger, id, word === 'forget' ? undefined : { ...row, unseenAt: word === 'unseen' ? at : null })
        }
        return forgotten
      }),
  }
}
