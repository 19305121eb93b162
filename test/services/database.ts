// A database of one's own on the shared server, so that test files cannot see each other.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export interface FreshDatabase {
  readonly name: string
  /** Straight to Postgres. */
  readonly url: string
  /** Through PgBouncer in transaction mode. */
  readonly bouncerUrl: string
  /** Ends its sessions and drops it. Call it in afterAll. */
  drop(): Promise<void>
}

/** Creates an empty database. The name only helps reading logs; a random suffix is added. */
export async function freshDatabase(name = 'test'): Promise<FreshDatabase> {
  const database = `${name.replace(/[^a-z0-9_]/gi, '_').slice(0, 40)}_${randomUUID().slice(0, 8)}`
  await onServer(`create database "${database}"`)
  return {
    name: database,
    url: withDatabase(inject('postgresUrl'), database),
    bouncerUrl: withDatabase(inject('pgbouncerUrl'), database),
    drop: () => onServer(`drop database if exists "${database}" with (force)`),
  }
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, database: string): string {
  const copy = new URL(url)
  copy.pathname = `/${database}`
  return copy.href
}
