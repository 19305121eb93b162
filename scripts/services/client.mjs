// One short statement on a Postgres server, and waiting until it takes connections.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** @param {string} url @param {string} text */
export async function query(url, text) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // A server that is shut down under an idle client must not become an uncaught error.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Asks until the server answers.
 * @param {string} url
 * @param {() => Promise<boolean>} isRunning false ends the wait at once
 * @returns {Promise<boolean>} false when the server went away or the time is up
 */
export async function untilReady(url, isRunning, limitMs = 60_000) {
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

/** @param {string} name */
export function quoteName(name) {
  return `"${name.replaceAll('"', '""')}"`
}

/** The same server, another database. @param {string} url @param {string} database */
export function withDatabase(url, database) {
  const copy = new URL(url)
  copy.pathname = `/${encodeURIComponent(database)}`
  return copy.href
}
