// npm run chaos -- kill: workers on a Postgres of their own are killed, stopped and told to end all the time, handlers crash, rows
// come in late; then it counts. `-- --seconds 180 --rows 200000 --workers 4 --seed N --lease 3 --every 2 --no-poison`

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { Seeded } from '../../../src/testing/seeded.ts'
import { startPostgres } from '../../../tools/services/index.ts'
import { Crew } from '../../processes/crew.ts'
import { faults, noFaults } from '../faults.ts'
import { readFlags } from '../flags.ts'
import { Feeder } from './feeder.ts'
import { poison, tables, type WorkerSettings } from './jobs.ts'
import { judge, readNotes } from './oracle.ts'
import { progress } from './progress.ts'
import { report } from './report.ts'

const flags = readFlags(process.argv.slice(2), {
  seconds: 180,
  rows: 200_000,
  workers: 4,
  seed: Math.floor(Math.random() * 1_000_000),
  /** Seconds. */
  lease: 3,
  /** Seconds between two faults. */
  every: 2,
  /** After the faults the workers have as long at most to finish. */
  rest: 180,
  poison: true,
})
const { seconds, rows, workers, seed } = flags
const leaseMs = flags.lease * 1_000
console.log(
  `chaos: ${rows.toLocaleString('en')} rows, ${workers} workers, ${seconds} s of faults every ${flags.every} s, lease ${flags.lease} s, seed ${seed}`,
)
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

// The server itself is not crashed here, so nothing is gained by waiting for the disk; synchronous_commit stays on.
const server = await startPostgres({
  settings: {
    max_connections: 200,
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    fsync: false,
    full_page_writes: false,
  },
})
const folder = mkdtempSync(join(tmpdir(), 'regrow-chaos-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const url = await server.createDatabase('chaos')
const client = new pg.Client({ connectionString: url })
await client.connect()
await client.query(tables)
const app = regrow({ store: postgres(url) })
await operate(app).migrate()
await app.close()

const feeder = new Feeder(url, rows, new Seeded(seed))
await feeder.before()
const takesMs = { many: 140, one: 50, round: leaseMs / 4 }
const settings: WorkerSettings = { url, leaseMs, folder, concurrency: 10, batch: 100, takesMs }
const crew = new Crew(fileURLToPath(new URL('./worker.ts', import.meta.url)))
for (let place = 0; place < workers; place++) crew.add(settings)
await crew.complete()

const counts = noFaults()
const calm = new AbortController()
const began = performance.now()
const lines = progress({ client, crew, feeder, counts, rows, began })
const feeding = feeder.during(seconds * 800)
const faulting = faults(crew, new Seeded(seed + 1), {
  everyMs: flags.every * 1_000,
  leaseMs,
  counts,
  signal: calm.signal,
})
if (flags.poison) {
  await sleep(seconds * 50)
  await feeder.poison()
}
await sleep(Math.max(0, seconds * 1_000 - (performance.now() - began)))
calm.abort()
await faulting
await feeding
const faultsMs = performance.now() - began
console.log('the faults are over; the workers go on until nothing is left')
const quiet = await lines.quiet(flags.rest * 1_000, flags.poison ? Object.keys(poison).length : 0)
const quietMs = performance.now() - began - faultsMs
lines.end()
await crew.close()
await feeder.close()
const verdict = await judge(client)
const failed = report({ verdict, notes: readNotes(folder), crew, counts, quiet, quietMs, poison: flags.poison, client })
process.exitCode = (await failed) ? 1 : 0
await client.end()
await server.close()
