// regrow/postgres: the store on Postgres 14 or newer through `pg`, and the queue that goes with it.
import type { QueueBounds } from '../../queue/hint.ts'
import { sqlStore } from '../../store/sql/store.ts'
import type { StoreDriver } from '../driver.ts'
import { openDatabase, type PostgresGiven, type PostgresOptions } from './client.ts'
import { PostgresQueue } from './queue/postgres-queue.ts'
import { regrown } from './queue/regrown.ts'

/** All of regrow's migrations as one script of plain SQL, for teams with a migration tool of their own. */
export { migrationScript } from '../../store/sql/migrate.ts'
export type { PgClient, PgPool, PostgresGiven, PostgresOptions } from './client.ts'

/** A store on Postgres: a url, a function that returns one, or a Pool or Client of `pg`. Nothing is opened before first use. */
export function postgres(
  given: PostgresGiven | undefined,
  options: PostgresOptions & Partial<QueueBounds> = {},
): StoreDriver {
  return {
    kind: 'store',
    name: 'postgres',
    async open({ clock }) {
      const db = await openDatabase(given, options)
      return {
        store: sqlStore(db, { exclusive: false }),
        defaultQueue: () => new PostgresQueue(regrown(db), clock, options),
      }
    },
  }
}
