// `guard: 'none'`: a ledger that grants every key and settles nothing. Two workers may run a key at the same time, no failure
// is remembered, no crash is counted; the check stays, so what is done or paused does not start. For cheap work that may be
// repeated, where a claim would cost more than the work.
import type { Intents } from './intents.ts'
import type { Finish, Ledger, SettleRow } from './ledger.ts'
import type { Schedules } from './schedules.ts'

type Rows = { ledger: Ledger; intents: Intents; schedules: Schedules }

/** What `guard` may be, and the ledger that it means. */
export const guards = {
  /** A key is held while its handler runs: the default. */
  claim: ({ ledger }: Rows): Ledger => ledger,
  none: ({ ledger: { oneTrip: _, shared: __, ...ledger }, intents, schedules }: Rows): Ledger => ({
    // What people ask for works as ever: clear, standing and quarantine are about keys that nobody holds.
    ...ledger,
    take: async (_, claims) => claims.map(({ job, key }) => ({ job, key, ...granted })),
    alone: async () => true,
    release: async () => {},
    fence: async (_, claims) => new Set(claims.map(({ take }) => take)),
    async settle(_, given, tx) {
      // No progress is a failure that nothing would remember: the sweep finds the row again.
      const rows = given.filter(({ noProgress }) => !noProgress)
      // Intents and slots are rows of regrow's own: without this they would be pending for ever.
      const finished = (what: Finish) => rows.flatMap(({ finish, key }) => (finish === what ? [key] : []))
      if (finished('intent').length > 0) await intents.finish(finished('intent'), tx)
      if (finished('slot').length > 0) await schedules.finish(finished('slot'), { tx })
      // Nobody reaches its attempts without a memory of failures: these were put aside by their handlers.
      const aside = rows.filter(({ state }) => state === 'quarantined')
      if (aside.length > 0) await ledger.remember(aside.map(unclaimed))
      return new Set(rows.map(({ take }) => take))
    },
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
