// regrow/pglite: the embedded store. Postgres inside this process, no server; one process at a time.
import { RegrowError } from '../../base/errors.ts'
import { MemoryQueue } from '../../queue/memory.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../../store/executor.ts'
import { sqlStore } from '../../store/sql/store.ts'
import type { OpenStore, StoreDriver } from '../driver.ts'
import { lockDirectory } from './lock.ts'

interface PgliteExecutor {
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[]; fields: { name: string; dataTypeID: number }[] }>
}

/** A PGlite, by shape: an instance of another version of the package fits, too. */
export interface PgliteLike extends PgliteExecutor {
  readonly waitReady: Promise<void>
  transaction<T>(fn: (tx: PgliteExecutor) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Databases that some app of this process has opened. */
const opened = new WeakSet<PgliteLike>()

/** A store in `directory`, in memory when it is left out, or in a PGlite of your own. */
export function pglite(given?: string | PgliteLike): StoreDriver {
  return {
    kind: 'store',
    name: 'pglite',
    async open({ clock }): Promise<OpenStore> {
      const own = given === undefined || typeof given === 'string'
      const unlock = typeof given === 'string' ? lockDirectory(given) : () => {}
      try {
        const db = own ? await start(given) : given
        await db.waitReady
        const close = async () => {
          if (own) await db.close()
          unlock()
        }
        // Nobody outside this process can have it open, so what its first opener finds claimed belongs to the dead.
        const exclusive = !opened.has(db)
        opened.add(db)
        return {
          store: sqlStore({ ...database(db), close }, { exclusive }),
          defaultQueue: () => new MemoryQueue(clock),
        }
      } catch (error) {
        unlock()
        throw error
      }
    },
  }
}

async function start(directory: string | undefined): Promise<PgliteLike> {
  const module = await import('@electric-sql/pglite').catch((cause: unknown) => {
    throw new RegrowError(
      'missing_package',
      'The package @electric-sql/pglite is not installed',
      'npm install @electric-sql/pglite',
      cause,
    )
  })
  return new module.PGlite(directory)
}

function database(db: PgliteLike): SqlDatabase {
  const executor = (on: PgliteExecutor): SqlExecutor => ({
    query: async (text, params = []) => {
      const { rows, fields } = await on.query(text, [...params])
      return { rows: rows as Row[], fields }
    },
  })
  return {
    ...executor(db),
    queryWithin: (timeoutMs, text, params) =>
      db.transaction(async (tx) => {
        await tx.query(`set local statement_timeout = ${Math.round(timeoutMs)}`)
        return executor(tx).query(text, params)
      }),
    transaction: (fn) => db.transaction((tx) => fn(executor(tx))),
  }
}
