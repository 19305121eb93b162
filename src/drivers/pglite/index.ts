// regrow/pglite: the embedded store. Postgres inside this process, no server; one process at a time.
import type { Clock } from '../../base/clock.ts'
import { messageOf, RegrowError } from '../../base/errors.ts'
import { kindOfValue } from '../../base/suggest.ts'
import { MemoryQueue } from '../../queue/memory.ts'
import type { OpenStore, StoreDriver } from '../driver.ts'
import { sqlStore } from '../postgres/store/store.ts'
import type { Row, SqlDatabase, SqlExecutor } from '../sql/client.ts'
import { oneConnection } from '../sql/single-connection.ts'
import { keepPrivate, lockDirectory } from './lock.ts'

interface PgliteExecutor {
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[]; fields: { name: string; dataTypeID: number }[] }>
}

/** A PGlite, by shape: an instance of another version of the package fits, too. */
export interface PgliteLike extends PgliteExecutor {
  readonly waitReady: Promise<void>
  transaction<T>(fn: (tx: PgliteExecutor) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** What a PGlite of yours hands to the function of a transaction. */
export type PgliteTransactionOf<Db extends PgliteLike> = Parameters<Parameters<Db['transaction']>[0]>[0]

/** What a statement answers. */
export interface PgliteResult<R> {
  readonly rows: R[]
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
  /** Rows that were written, where the statement writes. */
  readonly affectedRows?: number
}

/** A transaction where regrow made the PGlite: the part of it that needs none of its types. */
export interface PgliteTransaction {
  query<R extends object = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<PgliteResult<R>>
  /** Several statements without parameters. */
  exec(text: string): Promise<PgliteResult<Record<string, unknown>>[]>
}

/** Databases that some app of this process has opened. */
const opened = new WeakSet<PgliteLike>()

/** A store in `directory`, or in memory when it is left out. */
export function pglite(directory?: string): StoreDriver<PgliteTransaction>
/** A store in a PGlite of your own; `ctx.tx` hands out what its `transaction` does. */
export function pglite<Db extends PgliteLike>(db: Db): StoreDriver<PgliteTransactionOf<Db>>
export function pglite(given?: string | PgliteLike, ...more: unknown[]): StoreDriver<never> {
  return {
    kind: 'store',
    name: 'pglite',
    mistakes: more.some((each) => each !== undefined)
      ? ['pglite(): it takes a directory or a PGlite, and no options; to set some, pass new PGlite(directory, options)']
      : [],
    async open({ clock }): Promise<OpenStore<never>> {
      refuseUnusable(given)
      const own = given === undefined || typeof given === 'string'
      const unlock = typeof given === 'string' ? lockDirectory(given) : () => {}
      try {
        if (typeof given === 'string') keepPrivate(given)
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
          store: sqlStore({ ...oneConnection(db, database(db, clock)), close }, { exclusive }),
          defaultQueue: () => new MemoryQueue(clock),
        }
      } catch (error) {
        unlock()
        throw error
      }
    },
  }
}

/** Says what is wrong without repeating what was given: an address may hold a password. */
function refuseUnusable(given: unknown): void {
  const hint = "Pass a directory, pglite('./data'), or an instance of PGlite; without either the store is in memory."
  if (given === undefined || typeof (given as { transaction?: unknown } | null)?.transaction === 'function') return
  if (typeof given !== 'string' || given === '') {
    const found = given === '' ? 'an empty text' : kindOfValue(given)
    throw new RegrowError('no_url', `pglite() was given ${found} instead of a directory or a PGlite`, hint)
  }
  const scheme = /^([a-z][a-z0-9+.-]{1,20}):\/\//i.exec(given)?.[1]
  if (scheme !== undefined && !['file', 'memory'].includes(scheme.toLowerCase()))
    throw new RegrowError('no_url', `pglite() was given an address that begins with ${scheme}://`, hint)
  if (scheme === undefined && /^[^/\\]{2,}:\S*@/.test(given))
    throw new RegrowError('no_url', 'pglite() was given the address of a server without its scheme', hint)
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

function database(db: PgliteLike, clock: Clock): SqlDatabase<never> {
  const executor = (on: PgliteExecutor): SqlExecutor => ({
    query: async (text, params = []) => {
      const { rows, fields } = await on.query(text, [...params]).catch(explain)
      return { rows: rows as Row[], fields }
    },
  })
  return {
    ...executor(db),
    queryTheirs: executor(db).query,
    queryWithin: async (timeoutMs, text, params, { everyRow = false } = {}) => {
      const within = async (tx: PgliteExecutor) => {
        await tx.query(`set local statement_timeout = ${Math.round(timeoutMs)}`)
        if (everyRow) await tx.query('set local row_security = off')
        return executor(tx).query(text, params)
      }
      const answer = await db.transaction(within).catch(explain)
      // It answers without ever leaving the present turn of the event loop: during a pass of many pages no timer would fire,
      // and nothing would start (measured: the first start came after a whole pass). Other statements come one by one, and
      // have to pass the transactions that wait.
      await clock.gather()
      return answer
    },
    transaction: (fn) => {
      const whole = async (tx: PgliteExecutor) => {
        const value = await fn(executor(tx), tx as never)
        // PGlite takes the COMMIT of a transaction in which a statement failed for a success; this one fails then.
        await tx.query('select')
        return value
      }
      return db.transaction(whole).catch(explain)
    },
  }
}

/** What PGlite says of itself after, or while, whoever made it closes it. */
const closedText = /^PGlite is clos(?:ed|ing)/

/** Rethrows an error; one of a PGlite that was closed as what it means. */
function explain(error: unknown): never {
  if (!closedText.test(messageOf(error))) throw error
  throw new RegrowError(
    'not_connected',
    'The PGlite that pglite() was given is closed',
    'Call `await app.close()` before `await db.close()`: regrow uses your PGlite until then, and does not close it.',
    error,
  )
}
