// Databases whose schema is not the one that this code brings: one or two versions back, or one ahead.
import pg from 'pg'
import { RegrowError } from '../../src/base/errors.ts'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { schemaVersion } from '../../src/drivers/postgres/store/migrations/migrate.ts'
import { migrations } from '../../src/drivers/postgres/store/migrations/migrations.gen.ts'
import { newestSchema } from '../../src/drivers/postgres/store/statements-by-schema.ts'
import type { Store } from '../../src/store/store.ts'

/** An arbitrary number that is these tests'. */
const lockNumber = 4_190_552_117

/** Brings a database to that version as the code of that version would; one that is there already is left alone. */
export async function migrateTo(url: string, version: number): Promise<{ from: number; to: number }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(`select pg_advisory_xact_lock(${lockNumber})`)
    const from = await schemaVersion({ query: (text, params = []) => client.query(text, [...params]) })
    const missing = migrations.filter((each) => each.version > from && each.version <= version)
    for (const { statements } of missing) for (const statement of statements) await client.query(statement)
    if (version > newestSchema && from < version) await addNext(client)
    await client.query(
      `insert into regrow.meta (name, value) values ('schema', $1) on conflict (name) do update set value = excluded.value`,
      [String(Math.max(from, version))],
    )
    await client.query('commit')
    return { from, to: Math.max(from, version) }
  } finally {
    await client.end()
  }
}

/** A migration as a later version may bring it: columns with and without a default on every table, a table, an index. */
async function addNext(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`select tablename from pg_tables where schemaname = 'regrow' order by tablename`)
  for (const { tablename } of rows)
    await client.query(
      `alter table regrow.${tablename} add column later_note text, add column later_count int not null default 0,
        add column later_at timestamptz not null default clock_timestamp()`,
    )
  await client.query(
    `create table regrow.later_things (id bigint primary key, job text references regrow.sweeps (job))`,
  )
  await client.query(`create index later_ledger on regrow.ledger (later_count, job) where holder is null`)
}

/**
 * A driver whose store finds that version: asked to migrate, it brings the database there and no further. Each store fits its
 * statements when it is opened, as a process does at its start.
 */
export function atSchema(driver: StoreDriver, url: string, version: number): StoreDriver {
  return {
    ...driver,
    async open(surroundings) {
      const opened = await driver.open(surroundings)
      const { store } = opened
      const adapt = () => store.prepare({ migrate: false })
      const fitted: Store = {
        ...store,
        async migrate() {
          const done = await migrateTo(url, version)
          await adapt()
          return done
        },
        async prepare({ migrate }) {
          if (migrate) await migrateTo(url, version)
          await adapt()
        },
      }
      await adapt().catch((error: unknown) => {
        if (!(error instanceof RegrowError) || error.code !== 'not_migrated') throw error
      })
      return { ...opened, store: fitted }
    },
  }
}
