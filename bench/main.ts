// npm run bench: starts a Postgres of its own and prints drains per second. `-- --jobs 20000 --concurrency 100 --json`
import { startPostgres } from '../scripts/services/index.mjs'
import { type DrainResult, drain } from './drain.ts'

const flag = (name: string, standard: number) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const jobs = flag('jobs', 50_000)
const concurrency = flag('concurrency', 100)
const server = await startPostgres({ settings: { max_connections: 100, shared_buffers: '256MB' } })
const results: DrainResult[] = []
for (const kind of ['intents', 'rows.many', 'rows.one'] as const) {
  const url = await server.createDatabase(`bench_${kind.replace('.', '_')}`)
  const result = await drain(url, kind, kind === 'rows.one' ? Math.ceil(jobs / 5) : jobs, concurrency)
  results.push(result)
  if (!process.argv.includes('--json'))
    console.log(
      `${result.id.padEnd(10)} ${Math.round(result.perSecond).toLocaleString('en')} jobs/s  (${result.jobs.toLocaleString('en')} in ${result.seconds.toFixed(2)} s, ${result.statementsPerJob.toFixed(3)} transactions per job)`,
    )
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ node: process.version, concurrency, results }))
await server.close()
