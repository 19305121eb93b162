// regrow/postgres: the store on Postgres 14 or newer through `pg`, and the queue that goes with it.
import { isOptions, kindOfValue, unknownOptions } from '../../base/suggest.ts'
import { boundMistakes, type QueueBounds } from '../../queue/hint.ts'
import type { OpenStore, StoreDriver } from '../driver.ts'
import type {
  PgClient,
  PgClientOf,
  PgPool,
  PgTransaction,
  PostgresGiven,
  PostgresOptions,
  PostgresUrl,
} from './client/client.ts'
import { openDatabase } from './client/database.ts'
import { Notifier } from './queue/notifier.ts'
import { PostgresQueue } from './queue/postgres-queue.ts'
import { regrown } from './queue/recreate-missing-tables.ts'
import { sqlStore } from './store/store.ts'

export type {
  PgClient,
  PgClientOf,
  PgPool,
  PgResult,
  PgTransaction,
  PostgresGiven,
  PostgresOptions,
  PostgresUrl,
} from './client/client.ts'
/** What to do about an error of a connection to Postgres or of its server, where it is known. */
export { adviceOn } from './store/errors.ts'
/** All of regrow's migrations as one script of plain SQL, for teams with a migration tool of their own. */
export { migrationScript } from './store/migrations/migrate.ts'

type Options = PostgresOptions & Partial<QueueBounds>

/** A store on a pool of `pg`: `ctx.tx` hands out its clients. Nothing is opened before first use. */
export function postgres<Pool extends PgPool>(pool: Pool, options?: Options): StoreDriver<PgClientOf<Pool>>
/** A store on one connected client of `pg`, for scripts and tests. */
export function postgres<Client extends PgClient>(client: Client, options?: Options): StoreDriver<Client>
/**
 * A store on Postgres: a url, or a function that returns one. Nothing is opened before first use. `ctx.tx` hands out a
 * client of `pg`; with its types installed, `postgres<PoolClient>(url)` says so.
 */
export function postgres<Tx = PgTransaction>(url: PostgresUrl | undefined, options?: Options): StoreDriver<Tx>
export function postgres(given: PostgresGiven | undefined, options?: Options): StoreDriver
export function postgres(given: PostgresGiven | undefined, options: Options = {}): StoreDriver<never> {
  return {
    kind: 'store',
    name: 'postgres',
    mistakes: mistakesOf(options),
    async open(surroundings) {
      const db = await openDatabase(given, options, surroundings)
      return {
        store: sqlStore(db, { exclusive: false }) as OpenStore<never>['store'],
        defaultQueue: () =>
          new PostgresQueue(regrown(db.queue), {
            pages: db,
            rotates: {
              transaction: (work) => db.transaction(work, { own: true }),
              query: (...args) => db.queue.query(...args),
            },
            clock: surroundings.clock,
            notifier: new Notifier({ clock: surroundings.clock, listen: db.listen }),
            bounds: options,
          }),
      }
    },
  }
}

function mistakesOf(options: Options): string[] {
  if (!isOptions(options))
    return [`postgres(): the options are ${kindOfValue(options)}; expected an object such as { max: 10 }`]
  const { max = 1 } = options
  return [
    ...unknownOptions(options, ['max', 'maxHints', 'maxDelayed'], 'postgres()'),
    ...(Number.isInteger(max) && max >= 1
      ? []
      : [`postgres(): \`max\` is ${String(max)}; expected a whole number from 1`]),
    ...boundMistakes(options, 'postgres()'),
  ]
}
