// Starts what all test files share: one Postgres, one PgBouncer in front of it, and one Redis. Files ask for a database
// of their own with freshDatabase(), for a namespace with freshRedis(); tests that stop or crash a server start one of their own.

import type { TestProject } from 'vitest/node'
import { startPgbouncer, startPostgres, startRedis } from '../../scripts/services/index.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
    pgbouncerUrl: string
    redisUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres({
    shared: true,
    // Nothing here outlives the run. synchronous_commit stays on: the library's own choices are under test.
    settings: { max_connections: 200, shared_buffers: '256MB', fsync: false, full_page_writes: false },
  })
  const pgbouncer = await startPgbouncer({ postgres, shared: true })
  const redis = await startRedis({ shared: true })
  project.provide('postgresUrl', postgres.url())
  project.provide('pgbouncerUrl', pgbouncer.url('postgres'))
  project.provide('redisUrl', redis.url())
  return async () => {
    await redis.close()
    await pgbouncer.close()
    await postgres.close()
  }
}
