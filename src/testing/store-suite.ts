// What every store has to keep, as cases: give it your driver and a database of its own, loop over what comes back.

import { systemClock } from '../drivers/index.ts'
import { regrow } from '../index.ts'
import type { Store } from '../store/store.ts'
import { auditsCases } from './store/audits.ts'
import type { StoreContext } from './store/context.ts'
import { crashesCases } from './store/crashes.ts'
import { explainerCases } from './store/explainer.ts'
import { forgettingCases } from './store/forgetting.ts'
import { inspectorCases } from './store/inspector.ts'
import { intentsCases } from './store/intents.ts'
import { keysCases } from './store/keys.ts'
import { livingCases } from './store/living.ts'
import { memoryCases } from './store/memory.ts'
import { migrateCases } from './store/migrate.ts'
import { pageCases } from './store/page.ts'
import { pausesCases } from './store/pauses.ts'
import { recoveryCases } from './store/recovery.ts'
import { releaseCases } from './store/release.ts'
import { rememberedCases } from './store/remembered.ts'
import { schedulesCases } from './store/schedules.ts'
import { settleCases } from './store/settle.ts'
import { sourceCases } from './store/source.ts'
import { sweepsCases } from './store/sweeps.ts'
import { takeCases } from './store/take.ts'
import type { StoreDatabase } from './store-database.ts'
import { bindCases, type Case, type RunnableCase, type Skip } from './suite.ts'

/** Every rule of a store, by name. */
export const storeCases: readonly Case<StoreContext>[] = [
  ...takeCases,
  ...settleCases,
  ...releaseCases,
  ...memoryCases,
  ...livingCases,
  ...crashesCases,
  ...auditsCases,
  ...sweepsCases,
  ...rememberedCases,
  ...pausesCases,
  ...inspectorCases,
  ...explainerCases,
  ...forgettingCases,
  ...sourceCases,
  ...pageCases,
  ...keysCases,
  ...intentsCases,
  ...schedulesCases,
  ...recoveryCases,
  ...migrateCases,
]

/** The store to be judged. */
export interface StoreSubject {
  /** Opens the store, as a process would; several times in one case, always on the same database. The suite closes it. */
  open(): Promise<Store>
  /** That database, beside the store: the suite makes tables, sets the clock, and empties what is regrow's. It must be the suite's own. */
  readonly database: StoreDatabase
  /** Cases that this store does not pass, each with its reason. Defaults to none. */
  readonly skip?: readonly Skip[]
}

/** The cases of a store, bound to yours. Cases run one after another: they share its tables. */
export function storeSuite({ open, database, skip = [] }: StoreSubject): RunnableCase[] {
  return bindCases(storeCases, skip, async (run) => {
    const opened: Store[] = []
    const connect = async () => {
      const store = await open()
      opened.push(store)
      return store
    }
    try {
      const store = await connect()
      await store.migrate()
      await database.reset()
      let takes = 0
      await run({
        store,
        open: connect,
        database,
        clock: systemClock,
        nextTake: () => ++takes,
        pass: (ms) => database.pass(ms),
        // The public way to a declared job: a handler is bound to one. This app never opens anything.
        job: (name, pending, key = 'text') =>
          regrow({ store: { kind: 'store', name: 'none', open: () => Promise.reject(new Error('not opened')) } })
            .job(name, { key, pending })
            .handle(() => {}).job,
      })
    } finally {
      for (const store of opened) await store.close()
    }
  })
}
