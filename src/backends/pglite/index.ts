// regrow/pglite: the embedded store. Postgres inside this process, no server; one process at a time.
import { PGlite, type Transaction } from '@electric-sql/pglite'
import { MemoryQueue } from '../../queue/memory.ts'
import type { SqlDatabase, SqlExecutor } from '../../store/executor.ts'
import { sqlStore } from '../../store/sql/store.ts'
import type { StoreDriver } from '../driver.ts'

/** A store in `directory`, in memory when it is left out, or in a PGlite of your own. */
export function pglite(given?: string | PGlite): StoreDriver {
  return {
    async open({ clock }) {
      const own = typeof given !== 'object'
      const db = own ? new PGlite(given) : given
      const close = async () => (own ? db.close() : undefined)
      return { store: sqlStore(database(db), close), defaultQueue: () => new MemoryQueue(clock) }
    },
  }
}

function database(db: PGlite): SqlDatabase {
  const executor = (on: PGlite | Transaction): SqlExecutor => ({
    query: (text, params = []) => on.query<Record<string, unknown>>(text, [...params]),
  })
  return { ...executor(db), transaction: (fn) => db.transaction((tx) => fn(executor(tx))) }
}
