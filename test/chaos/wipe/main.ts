// npm run chaos -- wipe: the queue is wiped every 5 s and a worker killed -9 every 3 s, on a Postgres of their own; then the same on
// PGlite, where a kill loses the queue; then it counts. `-- --rows 100000 --workers 4 --wipe 5 --kill 3 --seed N --no-pglite`
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../../tools/services/index.ts'
import { buildSources } from '../../processes/build.ts'
import { readFlags } from '../flags.ts'
import { spreadOf } from '../notes.ts'
import type { WipeVerdict } from './jobs.ts'
import { type ReopenResult, reopenRun } from './reopen-run.ts'
import { type WipeResult, wipeRun } from './run.ts'

/** From a wipe to the first start of a key whose hint it deleted, the median. */
const promisedMs = 1_500

const flags = readFlags(process.argv.slice(2), {
  rows: 100_000,
  workers: 4,
  concurrency: 10,
  /** Keys per call of the handler at most; on PGlite so many times more as there are workers. */
  batch: 5,
  /** Milliseconds that a call takes before its transaction, on average; on PGlite so many times less as there are workers. */
  takes: 120,
  /** Seconds between two wipes. */
  wipe: 5,
  /** Seconds between two kills. */
  kill: 3,
  /** Seconds between two kills of the process that has the PGlite: it takes a while to open. */
  reopen: 5,
  /** Seconds. */
  lease: 5,
  seed: Math.floor(Math.random() * 1_000_000),
  /** Seconds that each of the two may take. */
  limit: 600,
  postgres: true,
  pglite: true,
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
const began = performance.now()
const tell = (line: string) =>
  console.log(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${line}`)
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'regrow-wipes-'))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  return made
}
const { build, remove } = buildSources('wipes')
process.on('exit', remove)
const shared = {
  build,
  rows: flags.rows,
  concurrency: flags.concurrency,
  batch: flags.batch,
  leaseMs: flags.lease * 1_000,
  seed: flags.seed,
  limitMs: flags.limit * 1_000,
  tell,
}
const wrong: string[] = []

type Judged = WipeVerdict & { readonly surprises: readonly string[] }

if (flags.postgres) {
  tell(
    `Postgres: ${count(flags.rows)} rows, ${flags.workers} workers, a wipe every ${flags.wipe} s, a kill every ${flags.kill} s, seed ${flags.seed}`,
  )
  const server = await startPostgres({
    settings: { max_connections: 200, shared_buffers: '256MB', fsync: false, full_page_writes: false },
  })
  const timing = { wipeEveryMs: flags.wipe * 1_000, killEveryMs: flags.kill * 1_000 }
  const url = await server.createDatabase('wipes')
  const result = await wipeRun({
    ...shared,
    ...timing,
    url,
    folder: folder(),
    workers: flags.workers,
    takesMs: flags.takes,
  })
  await server.close()
  wrong.push(...reportWipes(result))
}
if (flags.pglite) {
  // One process stands for all workers.
  const kept = {
    killEveryMs: flags.reopen * 1_000,
    takesMs: flags.takes / flags.workers,
    batch: flags.batch * flags.workers,
  }
  tell(`PGlite: ${count(flags.rows)} rows, one process, killed every ${flags.reopen} s, seed ${flags.seed}`)
  wrong.push(...reportReopened(await reopenRun({ ...shared, ...kept, folder: folder() })))
}
console.log(wrong.length > 0 ? `FAILED: ${wrong.join('; ')}` : 'ok: all done, nothing lost, nothing doubled')
process.exitCode = wrong.length > 0 ? 1 : 0

function reportWipes(result: WipeResult): string[] {
  const { wipes, heals, kills, starts, processes } = result
  const noticed = wipes.flatMap(({ noticedMs }) => noticedMs ?? [])
  // One that no start followed before the next wipe counts as the longest.
  const started = wipes.map(({ startedMs }) => startedMs ?? Number.POSITIVE_INFINITY)
  const never = started.filter((each) => each === Number.POSITIVE_INFINITY).length
  console.log('\n   wiped  noticed after  how      first start after  grown back in  hints pushed')
  for (const { hints, heal, noticedMs, startedMs } of wipes)
    console.log(
      `${count(hints).padStart(8)}${ms(noticedMs).padStart(15)}  ${(heal?.how ?? '').padEnd(8)}${ms(startedMs).padStart(18)}` +
        `${ms(heal?.tookMs ?? null).padStart(15)}${count(heal?.pushed ?? 0).padStart(14)}`,
    )
  table(result, [
    ['wipes', wipes.length, `${heals.length} losses in regrow.heals`],
    ['hints wiped', wipes.reduce((sum, { hints }) => sum + hints, 0), ''],
    ['kills -9', kills, `${processes} processes`],
    ['starts', starts, `${count(starts - result.rows)} more than rows`],
  ])
  console.log(`a wipe is noticed after        ${spread(noticed)}`)
  console.log(`a wiped key starts after       ${spread(started)}   promised: median < ${ms(promisedMs)}`)
  console.log(`not before the next wipe       ${never} of ${wipes.length}`)
  return [
    ...judge(result),
    ...(wipes.length === 0 ? ['the queue was never wiped'] : []),
    ...(noticed.length < wipes.length ? [`${wipes.length - noticed.length} wipes were not noticed`] : []),
    ...(spreadOf(started).median < promisedMs ? [] : ['the median time to the first start is too long']),
  ]
}

function reportReopened(result: ReopenResult): string[] {
  const { kills, reopened, starts } = result
  table(result, [
    ['kills -9', kills, ''],
    ['starts', starts, `${count(starts - result.rows)} more than rows`],
  ])
  const step = (name: keyof (typeof reopened)[number]) => spread(reopened.map((each) => each[name]))
  console.log(`kill to first start            ${step('totalMs')}`)
  console.log(`  new process                  ${step('spawnMs')}`)
  console.log(`  modules and opening PGlite   ${step('openMs')}`)
  console.log(`  healing: open to first start ${step('healMs')}`)
  return [...judge(result), ...(kills === 0 ? ['the process was never killed'] : [])]
}

function table(result: WipeResult | ReopenResult, more: readonly [string, number, string][]): void {
  const { rows, done, lost, doubled, quarantined, claimsLeft, seconds, surprises } = result
  const lines: [string, number, string][] = [
    ['rows', rows, `in ${seconds.toFixed(1)} s`],
    ['done', done, ''],
    ['lost', lost, ''],
    ['doubled', doubled, ''],
    ['quarantined', quarantined, ''],
    ['claims left behind', claimsLeft, surprises.join(', ')],
    ...more,
  ]
  console.log('')
  for (const [name, value, also] of lines)
    console.log(`${name.padEnd(20)}${count(value).padStart(10)}  ${also}`.trimEnd())
  for (const [what, times] of result.troubles.slice(0, 8)) console.log(`loops: ${times} × ${what}`)
}

function judge({ rows, done, lost, doubled, quarantined, surprises }: Judged): string[] {
  return [
    ...(lost > 0 || done < rows - doubled ? [`${lost} rows were lost`] : []),
    ...(doubled > 0 ? [`${doubled} effects were doubled`] : []),
    ...(quarantined > 0 ? [`${quarantined} keys were quarantined`] : []),
    ...surprises,
  ]
}

function spread(times: readonly number[]): string {
  const { median, p90, max } = spreadOf(times)
  return `median ${ms(median)}, p90 ${ms(p90)}, max ${ms(max)}`
}

function ms(value: number | null): string {
  return value === null || value === Number.POSITIVE_INFINITY ? 'never' : `${Math.round(value).toLocaleString('en')} ms`
}

function count(value: number): string {
  return value.toLocaleString('en')
}
