// Migrations: plain SQL, forward only, additive. Ten processes may run this at once: a lock of the transaction, not of
// the session, so it is safe behind a pooler.
import { RegrowError } from '../../../../base/errors.ts'
import type { SqlDatabase, SqlExecutor } from '../../../sql/client.ts'
import { newestSchema, oldestSchema } from '../statements-by-schema.ts'
import { migrations } from './migrations.gen.ts'

/** An arbitrary number that is regrow's. */
const lockNumber = 7_236_142_905

const createdBy = (name: string) =>
  (migrations.find((migration) => migration.name === name)?.statements ?? []).filter((statement) =>
    /^(create|alter) .*regrow\.(hints|canary)/.test(statement),
  )

/** What makes the tables of the Postgres queue, where they are missing. */
export const hintTables = [
  ...createdBy('005-queue').filter((statement) => !/\bhints_key\b/.test(statement)),
  ...createdBy('007-hint-order'),
]

/** The version of the schema; 0 when there is none. Throws where something else than regrow wrote it. */
export async function schemaVersion(db: SqlExecutor): Promise<number> {
  // Not to_regclass: after a wait for the lock it answers from a cache that does not know yet what was created meanwhile.
  const { rows } = await db.query(
    `select exists (select 1 from pg_catalog.pg_tables where schemaname = 'regrow' and tablename = 'meta') as found`,
  )
  if (rows[0]?.found !== true) return 0
  const version = await db.query(`select value from regrow.meta where name = 'schema'`)
  const value = (version.rows[0]?.value as string | undefined) ?? '0'
  if (/^\d+$/.test(value)) return Number(value)
  throw new RegrowError(
    'schema_unknown',
    `The table regrow.meta says that regrow's schema is in version ${JSON.stringify(value)}`,
    `That is no version. Which one was it? Put its number back: update regrow.meta set value = '…' where name = 'schema'. This code knows ${newestSchema}.`,
  )
}

export async function migrate(db: SqlDatabase): Promise<{ from: number; to: number }> {
  const present = await schemaVersion(db)
  if (present >= newestSchema) return { from: present, to: present }
  const work = async (tx: SqlExecutor) => {
    // An index takes as long as it takes, whatever the role allows its other statements.
    await tx.query(`select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`)
    await tx.query(`select pg_advisory_xact_lock(${lockNumber})::text`)
    // Whoever comes after a statement that waits for a table waits, too: it must not wait for a long transaction.
    await tx.query(`set local lock_timeout = '3s'`)
    const from = await schemaVersion(tx)
    for (const migration of migrations.filter(({ version }) => version > from)) {
      for (const statement of migration.statements) await tx.query(statement)
      await tx.query(
        `insert into regrow.meta (name, value) values ('schema', $1) on conflict (name) do update set value = excluded.value`,
        [String(migration.version)],
      )
    }
    return { from, to: Math.max(from, newestSchema) }
  }
  return db.transaction(work, { unbounded: true, own: true })
}

/**
 * The version of the schema, or an error when it is too old for this code. One version back is fine (see schema.ts), and so
 * is a newer one: migrations only add.
 */
export async function migratedVersion(db: SqlDatabase): Promise<number> {
  const found = await schemaVersion(db)
  if (found >= oldestSchema) return found
  throw new RegrowError(
    'not_migrated',
    `The database has regrow's schema in version ${found}, this code needs version ${newestSchema}`,
    'Run `regrow migrate --store <url>` as a step of your deploy, or `await operate(app).migrate()`.',
  )
}

/**
 * All migrations as one script, for teams with a tool of their own. Without BEGIN and COMMIT, which would end the transaction of the
 * tool that applies it; `transaction: true` puts them around it.
 */
export function migrationScript({ transaction = false }: { readonly transaction?: boolean } = {}): string {
  const parts = migrations.map(
    ({ version, name, statements }) =>
      `-- ${name}\n${statements.map((statement) => `${statement};\n`).join('\n')}\ninsert into regrow.meta (name, value) values ('schema', '${version}') on conflict (name) do update set value = excluded.value;\n`,
  )
  const script = parts.join('\n')
  return transaction ? `begin;\n\n${script}\ncommit;\n` : script
}
