// Starts what all test files share: one Postgres, one PgBouncer in front of it, one Redis, and the image of a PGlite. Files ask for a database
// of their own with freshDatabase(), for a namespace with freshRedis(); tests that stop or crash a server start one of their own.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { TestProject } from 'vitest/node'
import { regrow } from '../../src/app/regrow.ts'
import { pglite } from '../../src/drivers/pglite/index.ts'
import { operate } from '../../src/operate/index.ts'
import { startPgbouncer, startPostgres, startRedis } from '../../tools/services/index.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
    pgbouncerUrl: string
    redisUrl: string
    pgliteImage: string
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
  const image = await pgliteImage()
  project.provide('pgliteImage', image)
  return async () => {
    await rm(dirname(image), { recursive: true })
    await redis.close()
    await pgbouncer.close()
    await postgres.close()
  }
}

/** A migrated PGlite as a file: to open it takes a seventh of what it takes to make one. */
async function pgliteImage(): Promise<string> {
  const db = new PGlite()
  await operate(regrow({ store: pglite(db) })).migrate()
  const file = join(await mkdtemp(join(tmpdir(), 'regrow-pglite-')), 'image.tar')
  await writeFile(file, Buffer.from(await (await db.dumpDataDir('none')).arrayBuffer()))
  await db.close()
  return file
}
