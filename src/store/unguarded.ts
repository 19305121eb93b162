// `guard: 'none'`: a ledger that grants every key and settles nothing. Two workers may run a key at the same time, no failure
// is remembered, no crash is counted; the check stays, so what is done or paused does not start. For cheap work that may be
// repeated, where a claim would cost more than the work.
import type { Intents } from './intents.ts'
import type { Ledger, SettleRow } from './ledger.ts'

/** What `guard` may be, and the ledger that it means. */
export const guards = {
  /** A key is held while its handler runs: the default. */
  claim: ({ ledger }: { ledger: Ledger; intents: Intents }): Ledger => ledger,
  none: ({ ledger, intents }: { ledger: Ledger; intents: Intents }): Ledger => ({
    // What people ask for works as ever: clear, standing and quarantine are about keys that nobody holds.
    ...ledger,
    take: async (_, claims) => claims.map(({ job, key }) => ({ job, key, ...granted })),
    alone: async () => true,
    release: async () => {},
    fence: async (_, claims) => new Set(claims.map(({ take }) => take)),
    async settle(_, rows, tx) {
      // An intent is its own row: without this it would be pending for ever.
      const finished = rows.flatMap(({ finish, key }) => (finish ? [key] : []))
      if (finished.length > 0) await intents.finish(finished, tx)
      // Nobody reaches its attempts without a memory of failures: these were put aside by their handlers.
      const aside = rows.filter(({ state }) => state === 'quarantined')
      if (aside.length > 0) await ledger.stall(aside.map(unclaimed))
      return new Set(rows.map(({ take }) => take))
    },
    // A failure that nothing would remember: the sweep finds the row again.
    stall: async () => [],
  }),
}

const granted = {
  verdict: 'taken',
  waitMs: 0,
  failures: 0,
  crashes: 0,
  version: null,
  together: null,
} as const

const unclaimed = ({ take: _, finish: __, ...row }: SettleRow) => row
