// The quarantine in the model: what a person reads of it, and the two acts on its keys.
import type { QuarantinedKey, StoreQuarantine } from '../../../src/store/quarantine.ts'
import { byBytes } from './order.ts'
import { dropQuarantined, releaseQuarantined } from './quarantine.ts'
import { type LedgerRow, ledgerId, type Schema } from './schema.ts'

const date = (ms: number) => new Date(ms)
const dateOrNull = (ms: number | null) => (ms === null ? null : new Date(ms))

const keyOf = (row: LedgerRow, error: string | null): QuarantinedKey => ({
  job: row.job,
  key: row.key,
  version: row.version,
  failures: row.failures,
  crashes: row.crashes,
  error,
  since: date(row.updatedAt),
})

const firstOf = (text: string | null, characters: number) =>
  text === null || text.length <= characters ? text : [...text].slice(0, characters).join('')

export function simQuarantine(schema: Schema): StoreQuarantine {
  const { ledger, intents, ledgerQuarantined } = schema
  return {
    list: async (job, after, limit) => {
      const jobs = job === null ? [...ledgerQuarantined.keys()] : [job]
      const isAfter = (row: LedgerRow) =>
        after === null || byBytes(row.job, after.job) > 0 || (row.job === after.job && byBytes(row.key, after.key) > 0)
      return jobs
        .flatMap((name) => [...ledger.found(ledgerQuarantined, name)])
        .filter(isAfter)
        .sort((a, b) => byBytes(a.job, b.job) || byBytes(a.key, b.key))
        .slice(0, limit)
        .map((row) => keyOf(row, firstOf(row.error, 300)))
    },
    find: async (job, key) => {
      const row = ledger.rows.get(ledgerId(job, key))
      if (row?.state !== 'quarantined') return null
      const intent = intents.rows.get(key)
      if (intent?.job !== job) return { ...keyOf(row, row.error), intent: null }
      const { input, createdAt, runAt, uniqueKey, startedKey } = intent
      const told = { input, createdAt: date(createdAt), runAt: dateOrNull(runAt), uniqueKey: uniqueKey ?? startedKey }
      return { ...keyOf(row, row.error), intent: told }
    },
    release: (job, keys, author) => releaseQuarantined(schema, job, keys, author),
    drop: (job, keys, author) => dropQuarantined(schema, job, keys, author),
    count: () => unasked(),
    errors: () => unasked(),
  }
}

const unasked = async (): Promise<never> => {
  throw new Error('a person counts what is in quarantine, and no person is simulated')
}
