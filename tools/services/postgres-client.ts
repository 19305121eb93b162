// Runs one short statement on a Postgres server, and waits until a server takes connections.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // A server that shuts down under an idle client must not become an uncaught error.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Asks until the server answers; false when it has ended (`isRunning`), or when the time is up. */
export async function waitUntilReady(
  url: string,
  isRunning: () => Promise<boolean>,
  limitMs = 60_000,
): Promise<boolean> {
  const end = performance.now() + limitMs
  while (performance.now() < end) {
    try {
      await query(url, 'select 1')
      return true
    } catch {
      if (!(await isRunning())) return false
      await sleep(25)
    }
  }
  return false
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const copy = new URL(url)
  copy.pathname = `/${encodeURIComponent(database)}`
  return copy.href
}
