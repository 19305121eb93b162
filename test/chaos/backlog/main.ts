// npm run chaos -- backlog: millions of pending rows at once, and a queue that may hold fifty thousand of them; then it counts how
// much the queue ever held. `-- --rows 5000000 --hints 50000 --workers 2 --batch 500 --limit 1800`

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow } from '../../../src/index.ts'
import { operate } from '../../../src/operate/index.ts'
import { startPostgres } from '../../../tools/services/index.ts'
import { Crew } from '../../processes/crew.ts'
import { readFlags } from '../flags.ts'
import type { BacklogWorkerSettings } from './worker.ts'

const flags = readFlags(process.argv.slice(2), {
  rows: 5_000_000,
  /** Due hints that the queue may hold. */
  hints: 50_000,
  workers: 2,
  concurrency: 4,
  /** Keys per call of the handler at most. */
  batch: 500,
  /** Seconds that it may take. */
  limit: 1_800,
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
const began = performance.now()
const tell = (line: string) =>
  console.log(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${line}`)
const count = (value: number) => Math.round(value).toLocaleString('en')
const kib = (bytes: number) => `${count(bytes / 1024)} KiB`

tell(`backlog: ${count(flags.rows)} rows, ${count(flags.hints)} hints at most, ${flags.workers} workers`)
const server = await startPostgres({
  settings: {
    max_connections: 200,
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    fsync: false,
    full_page_writes: false,
  },
})
const url = await server.createDatabase('backlog')
const client = new pg.Client({ connectionString: url })
await client.connect()
const app = regrow({ store: postgres(url) })
await operate(app).migrate()
await app.close()
await client.query(`create table rows (id bigint primary key, state text not null, runs int not null default 0)`)
await client.query(`insert into rows select n, 'pending' from generate_series(1, ${flags.rows}) n`)
await client.query(`create index on rows (id) where state = 'pending'`)
await client.query('vacuum analyze rows')

/** What a queue takes that holds its bound and nothing else. */
await client.query(
  `insert into regrow.hints (job, key, due_at, fresh) select 'row.mark', n::text, now(), false from generate_series(1, $1::int) n`,
  [flags.hints],
)
const full = (await look()).bytes
await client.query('truncate regrow.hints')
tell(`a queue of ${count(flags.hints)} hints takes ${kib(full)}`)

const settings: BacklogWorkerSettings = {
  url,
  maxHints: flags.hints,
  batch: flags.batch,
  concurrency: flags.concurrency,
}
const crew = new Crew(fileURLToPath(new URL('./worker.ts', import.meta.url)))
const startedAt = performance.now()
for (let place = 0; place < flags.workers; place++) crew.add(settings)
await crew.complete()
const most = { hints: 0, bytes: 0 }
let told = performance.now()
let left = true
let begun = false
while (left && performance.now() - startedAt < flags.limit * 1_000) {
  const now = await look()
  most.hints = Math.max(most.hints, now.hints)
  most.bytes = Math.max(most.bytes, now.bytes)
  left = now.left
  if (!begun && now.hints >= Math.min(flags.hints, flags.rows / 2)) {
    begun = true
    tell(`the queue is full: the workers begin`)
    for (const { child } of crew.members) child.send('full')
  }
  if (performance.now() - told > 5_000) {
    told = performance.now()
    const { rows } = await client.query(`select count(*)::int as n from rows where state = 'pending'`)
    tell(`${count(rows[0].n)} rows left, ${count(now.hints)} hints, ${kib(now.bytes)} of table`)
  }
  await sleep(50)
}
const seconds = (performance.now() - startedAt) / 1_000
await crew.close()
const { rows } = await client.query(`select count(*) filter (where runs = 0)::int as lost,
  count(*) filter (where runs > 1)::int as doubled, (select count(*)::int from regrow.ledger) as remembered from rows`)
const { lost, doubled, remembered } = rows[0]
await client.end()
await server.close()

const lines: [string, string][] = [
  ['rows', `${count(flags.rows)} in ${seconds.toFixed(1)} s, ${count(flags.rows / seconds)} a second`],
  ['lost', count(lost)],
  ['doubled', count(doubled)],
  ['left in the ledger', count(remembered)],
  ['hints at most', `${count(most.hints)} of ${count(flags.hints)}`],
  ['table at most', `${kib(most.bytes)}, ${(most.bytes / full).toFixed(1)} times that of a full queue`],
]
console.log('')
for (const [name, value] of lines) console.log(`${name.padEnd(20)}${value}`)
const wrong = [
  left && 'the workers did not come to an end in time',
  lost > 0 && 'rows were lost',
  doubled > 0 && 'rows ran twice',
  most.hints > flags.hints && 'the queue held more than it may',
  ...crew.surprises,
].filter((each) => each !== false)
console.log(wrong.length > 0 ? `FAILED: ${wrong.join('; ')}` : 'ok: all done once, and the queue kept its bound')
process.exitCode = wrong.length > 0 ? 1 : 0

async function look(): Promise<{ hints: number; bytes: number; left: boolean }> {
  const { rows } = await client.query(`select (select count(*) from regrow.hints)::int as hints,
    pg_total_relation_size('regrow.hints')::int8::float8 as bytes, exists (select 1 from rows where state = 'pending') as left`)
  return rows[0]
}
