// Databases as their owners set them up: each profile has settings that regrow must not depend on, and a way to reach it. Settings that
// do not hide each other share a profile, so that few runs cover them all.
import pg from 'pg'
import { inject } from 'vitest'
import type { StoreDriver } from '../../src/drivers/driver.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { startPgbouncer } from '../../tools/services/index.ts'
import { type FreshDatabase, freshDatabase } from './database.ts'

export interface Profile {
  readonly name: string
  /** Of the database: every session of every user has them. */
  readonly settings: Readonly<Record<string, string>>
  readonly way: 'url' | 'pool' | 'PgBouncer in transaction mode' | 'PgBouncer in session mode'
}

/** Texts of dates, numbers and bytes in forms that nobody expects. */
const oddTexts = {
  timezone: 'Asia/Kathmandu',
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  extra_float_digits: '0',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
}

export const profiles = {
  serializable: {
    name: 'SERIALIZABLE, and odd texts of dates, numbers and bytes',
    settings: { default_transaction_isolation: 'serializable', ...oddTexts },
    way: 'url',
  },
  repeatableRead: {
    name: 'REPEATABLE READ and an empty search_path, on a pool of the user’s',
    settings: { default_transaction_isolation: 'repeatable read', search_path: '' },
    way: 'pool',
  },
  shortTimes: {
    name: 'short time limits of statements, locks and idle transactions',
    settings: { statement_timeout: '1s', lock_timeout: '100ms', idle_in_transaction_session_timeout: '300ms' },
    way: 'url',
  },
  transactionPooler: {
    name: 'REPEATABLE READ and odd texts behind PgBouncer in transaction mode',
    settings: { default_transaction_isolation: 'repeatable read', ...oddTexts },
    way: 'PgBouncer in transaction mode',
  },
  sessionPooler: {
    name: 'SERIALIZABLE behind PgBouncer in session mode',
    settings: { default_transaction_isolation: 'serializable' },
    way: 'PgBouncer in session mode',
  },
} as const satisfies Record<string, Profile>

export interface ProfileDatabase extends FreshDatabase {
  /** A store there, reached as the profile says; another one for each process that is played. */
  driver(): StoreDriver
  /** A session in which the settings hold, with time to wait. */
  session(): Promise<pg.Client>
}

/** A database of its own with those settings. */
export async function databaseOf({ settings, way }: Profile): Promise<ProfileDatabase> {
  const database = await freshDatabase('profile')
  const closing: (() => Promise<unknown>)[] = []
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  for (const [name, value] of Object.entries(settings))
    await admin.query(
      `alter database "${database.name}" set ${name} = ${value === '' ? `''` : value.includes(',') ? value : `'${value}'`}`,
    )
  await admin.end()
  const bouncer =
    way === 'PgBouncer in session mode'
      ? // Each connection of a client keeps one of the server's.
        await startPgbouncer({
          postgres: { url: () => inject('postgresUrl') },
          poolMode: 'session',
          settings: { default_pool_size: 60 },
        })
      : undefined
  if (bouncer) closing.push(() => bouncer.close())
  const pool = () => {
    const made = new pg.Pool({ connectionString: database.url, max: 8 })
    made.on('error', () => {})
    closing.unshift(() => made.end())
    return made
  }
  return {
    ...database,
    driver() {
      if (way === 'pool') return postgres(pool())
      if (way === 'PgBouncer in transaction mode') return postgres(database.bouncerUrl)
      return postgres(bouncer ? bouncer.url(database.name) : database.url)
    },
    async session() {
      const session = new pg.Client({ connectionString: database.url })
      session.on('error', () => {})
      await session.connect()
      await session.query(`set statement_timeout = 0`)
      await session.query(`set lock_timeout = 0`)
      closing.unshift(() => session.end())
      return session
    },
    async drop() {
      for (const close of closing.splice(0)) await close()
      await database.drop()
    },
  }
}
