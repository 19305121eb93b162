// npm run bench: starts a Postgres of its own and prints drains per second. `-- --jobs 20000 --concurrency 100 --json`
// With `--sweep` it prints what sweeps cost instead. `-- --sweep --rows 10000000 --pending 1000000 --json`
// `-- redis` compares the Redis queue with BullMQ, `-- postgres` the Postgres queue with pg-boss and graphile-worker;
// `-- schedules` prints what an audit of schedules costs.
import { startPostgres } from '../tools/services/index.ts'
import { type DrainResult, drain, kinds } from './drain.ts'
import { postgresBench } from './postgres/main.ts'
import { redisBench } from './redis/main.ts'
import { schedulesBench } from './schedules/main.ts'
import { type SweepResult, sweep } from './sweep.ts'

// As it runs at work: elsewhere a worker begins with a sweep of each job, beside what is measured.
process.env.NODE_ENV = 'production'

const flag = (name: string, standard: number) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const json = process.argv.includes('--json')
if (process.argv[2] === 'redis') process.exit(await redisBench(process.argv.slice(3)))
if (process.argv[2] === 'schedules') process.exit(await schedulesBench(process.argv.slice(3)))
if (process.argv[2] === 'postgres') process.exit(await postgresBench(process.argv.slice(3)))
const server = await startPostgres({
  settings: { max_connections: 100, shared_buffers: '256MB', max_wal_size: '4GB' },
})
if (process.argv.includes('--sweep')) await sweeps()
else await drains()
await server.close()

async function drains(): Promise<void> {
  const jobs = flag('jobs', 50_000)
  const concurrency = flag('concurrency', 100)
  const results: DrainResult[] = []
  for (const kind of kinds) {
    const url = await server.createDatabase(`bench_${kind.replace('.', '_')}`)
    const result = await drain(url, kind, kind === 'rows.function' ? Math.ceil(jobs / 5) : jobs, concurrency)
    results.push(result)
    if (!json)
      console.log(
        `${result.id.padEnd(15)} ${count(result.perSecond)} jobs/s  (${count(result.jobs)} in ${result.seconds.toFixed(2)} s, ${result.statementsPerJob.toFixed(3)} transactions per job)`,
      )
  }
  if (json) console.log(JSON.stringify({ node: process.version, concurrency, results }))
}

async function sweeps(): Promise<void> {
  const scenes = [
    { id: 'idle', rows: flag('rows', 10_000_000), pending: 0, maxHints: 50_000, turns: 10 },
    {
      id: 'full',
      rows: flag('pending', 1_000_000),
      pending: flag('pending', 1_000_000),
      maxHints: flag('max-hints', 50_000),
      turns: 10,
    },
  ]
  const results: SweepResult[] = []
  for (const scene of scenes) {
    const result = await sweep(await server.createDatabase(`sweep_${scene.id}`), scene)
    results.push(result)
    if (!json) printSweep(result)
  }
  if (json) console.log(JSON.stringify({ node: process.version, results }))
}

function printSweep(result: SweepResult): void {
  const { id, rows, pending, maxHints, hints, turns, statements, scanned, rowsRead, blocks, ms, everyMs } = result
  console.log(
    `${id}: ${count(rows)} rows, ${count(pending)} pending, ${count(hints)} hints of at most ${count(maxHints)}; means of ${turns} turns`,
  )
  const all = Object.values(statements).reduce((sum, each) => sum + each, 0)
  const parts = Object.entries(statements).map(([kind, each]) => `${kind} ${each.toFixed(1)}`)
  console.log(`  statements    ${all.toFixed(1)}  (${parts.join(', ')})`)
  console.log(`  rows scanned  ${count(scanned)}`)
  console.log(`  rows read     ${count(rowsRead)}  in table, ledger and queue, by page and push`)
  console.log(`  blocks        ${count(blocks)}`)
  console.log(`  milliseconds  ${ms.toFixed(1)}  every ${count(everyMs)} ms`)
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}
