// npm run chaos -- schedules: a schedule of every second, with a worker killed -9 every 5 s and the queue wiped every 20 s, on Redis and
// on Postgres; then with nothing being killed. Every instant ran or was skipped, none twice; without faults the median start
// is less than 50 ms late. `-- --queue redis|postgres|both --seconds 180 --calm 30 --workers 3 --kill 5 --all --wipe 20 --seed N`
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { redisCommand, startPostgres, startRedis } from '../../../tools/services/index.ts'
import { buildSources } from '../../processes/build.ts'
import { readFlags } from '../flags.ts'
import { spreadOf } from '../notes.ts'
import type { ScheduleCount } from './count.ts'
import { type ScheduleRunOptions, type ScheduleRunResult, scheduleRun } from './run.ts'

/** From an instant to the start of its handler, the median, while nothing is killed. */
const promisedMs = 50

const flags = readFlags(process.argv.slice(2), {
  /** Where the hints are: redis, postgres or both. */
  queue: 'both',
  /** Seconds with faults; 0: none. */
  seconds: 180,
  /** Seconds without; 0: none. */
  calm: 30,
  workers: 3,
  /** Seconds between two kills. */
  kill: 5,
  /** All workers at once, instead of one. */
  all: false,
  /** Seconds between two wipes. */
  wipe: 20,
  /** Seconds. */
  lease: 5,
  /** Milliseconds that a handler takes, on average. */
  takes: 250,
  seed: Math.floor(Math.random() * 1_000_000),
})
const queues = (['redis', 'postgres'] as const).filter((name) => flags.queue === 'both' || flags.queue === name)
if (queues.length === 0) throw new Error(`--queue is ${flags.queue}; expected redis, postgres or both`)
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
const began = performance.now()
const tell = (line: string) =>
  console.log(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${line}`)
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'regrow-schedules-'))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  return made
}
const { build, remove } = buildSources('schedules')
process.on('exit', remove)
const server = await startPostgres({
  settings: { max_connections: 200, fsync: false, full_page_writes: false },
})
const wrong: string[] = []
for (const queue of queues) {
  const redis = queue === 'redis' ? await startRedis() : undefined
  const base = {
    build,
    redisUrl: redis?.url(),
    workers: flags.workers,
    leaseMs: flags.lease * 1_000,
    takesMs: flags.takes,
    killsAll: flags.all,
    seed: flags.seed,
    tell,
  }
  if (flags.seconds > 0) {
    tell(
      `${queue}: ${flags.seconds} s, ${flags.all ? 'all are killed' : 'a kill'} every ${flags.kill} s, a wipe every ${flags.wipe} s, seed ${flags.seed}`,
    )
    const storm = { seconds: flags.seconds, killEveryMs: flags.kill * 1_000, wipeEveryMs: flags.wipe * 1_000 }
    const result = await runOn(`${queue}_storm`, { ...base, ...storm })
    table(`${queue}, ${result.kills} kills, ${result.wipes} wipes`, result)
    wrong.push(...judge(queue, result))
  }
  if (flags.calm > 0) {
    tell(`${queue}: ${flags.calm} s with nothing being killed`)
    const result = await runOn(`${queue}_calm`, { ...base, seconds: flags.calm, killEveryMs: 0, wipeEveryMs: 0 })
    table(`${queue}, nothing killed`, result)
    const { median } = spreadOf(result.delays)
    wrong.push(...judge(`${queue}, nothing killed`, result))
    if (!(median < promisedMs)) wrong.push(`${queue}: the median start is ${median} ms late`)
  }
  await redis?.close()
}
await server.close()
console.log(wrong.length > 0 ? `\nFAILED: ${wrong.join('; ')}` : '\nok: every instant ran or was skipped, none twice')
process.exitCode = wrong.length > 0 ? 1 : 0

async function runOn(name: string, options: Omit<ScheduleRunOptions, 'url' | 'folder' | 'wipe'>) {
  const url = await server.createDatabase(name)
  const { redisUrl } = options
  // Another database is another queue: what a namespace of Redis holds of the last one would be somebody else's.
  if (redisUrl) await redisCommand(redisUrl, 'FLUSHALL')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const wipe = async () => {
    if (redisUrl) await redisCommand(redisUrl, 'FLUSHALL')
    else await client.query(`with mark as (delete from regrow.canary) delete from regrow.hints`)
  }
  try {
    return await scheduleRun({ ...options, url, folder: folder(), wipe })
  } finally {
    await client.end()
  }
}

function table(title: string, result: ScheduleRunResult): void {
  const { counts, starts, audits, orphans, delays } = result
  console.log(`\n${title}`)
  console.log('schedule    instants      ran  skipped                     open  missing  in two rows  two effects')
  for (const each of counts) {
    const skipped = Object.entries(each.skipped).map(([reason, times]) => `${reason} ${times}`)
    const cells = [each.instants, each.ran].map((value) => String(value).padStart(9)).join('')
    const rest = [String(each.open).padStart(6), String(each.missing.length).padStart(9)]
    const twice = [String(each.twice.length).padStart(13), String(each.doubled).padStart(13)]
    console.log(
      `${each.schedule.padEnd(11)}${cells}  ${(skipped.join(', ') || '0').padEnd(26)}${rest.join('')}${twice.join('')}`,
    )
  }
  const { median, p90, max } = spreadOf(delays)
  const worked = counts.reduce((sum, { ran }) => sum + ran, 0)
  console.log(`starts ${starts}, ${starts - worked} more than ran; audits ${audits}, orphans pushed ${orphans}`)
  console.log(`start after its instant: median ${median} ms, p90 ${p90} ms, max ${max} ms`)
  for (const [what, times] of result.troubles.slice(0, 8)) console.log(`loops: ${times} × ${what}`)
}

function judge(where: string, { counts, surprises }: ScheduleRunResult): string[] {
  return [...counts.flatMap((each) => faultsOf(each)), ...surprises].map((what) => `${where}: ${what}`)
}

function faultsOf({
  schedule,
  instants,
  ran,
  open,
  missing,
  twice,
  doubled,
  startedAndSkipped,
}: ScheduleCount): string[] {
  const some = (list: readonly number[]) =>
    list
      .slice(0, 5)
      .map((at) => new Date(at).toISOString())
      .join(', ')
  return [
    ...(instants === 0 || ran === 0 ? [`${schedule} never ran`] : []),
    ...(missing.length > 0 ? [`${missing.length} instants of ${schedule} are missing: ${some(missing)}`] : []),
    ...(twice.length > 0 ? [`${twice.length} instants of ${schedule} are in two rows: ${some(twice)}`] : []),
    ...(doubled > 0 ? [`${doubled} slots of ${schedule} have two effects`] : []),
    ...(startedAndSkipped.length > 0
      ? [`${startedAndSkipped.length} slots of ${schedule} started and are skipped: ${some(startedAndSkipped)}`]
      : []),
    // One that was due while the workers stopped.
    ...(open > 2 ? [`${open} slots of ${schedule} are open`] : []),
  ]
}
