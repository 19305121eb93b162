// npm run bench -- redis: regrow on Redis and Postgres against BullMQ on the same servers, pair by pair, under one Node.
// `--quick` takes fewer jobs, `--json` prints one object, `--write` writes bench/RESULTS.md, `--only redis.drain` some rows.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import pg from 'pg'
import {
  findNode,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '../../scripts/services/index.mjs'
import { type Pair, rowOf, shown, tooSlow } from './figures.ts'
import { peers } from './peers.ts'
import { jsonOf, pageOf, type Run, textOf } from './report.ts'
import { type Measure, type RowSpec, type Scene, scenes } from './rows.ts'
import { measure, quiet, type Side } from './side.ts'
import type { Figures, Task } from './task.ts'

const postgresSettings = { max_connections: 100, shared_buffers: '256MB', max_wal_size: '4GB' }
/** How long a measure waits for a machine that has other things to do. */
const quietMs = 5_000

interface Bench {
  readonly node: string
  readonly redis: RedisServer
  readonly postgres: PostgresServer
  readonly say: (line: string) => void
  busyMax: number
}

/** Answers the exit code: 1 when the run is not valid. */
export async function redisBench(args: readonly string[]): Promise<number> {
  const value = (name: string) => args[args.indexOf(name) + 1]
  const [quick, json, only] = [
    args.includes('--quick'),
    args.includes('--json'),
    args.includes('--only') && value('--only'),
  ]
  const pairs = args.includes('--pairs') ? Number(value('--pairs')) : 3
  const say = (line: string) => console.error(line)
  const versions = await peers(say)
  const chosen = scenes(quick)
    .map((scene) => scene.filter(({ id }) => !only || id.startsWith(only)))
    .filter((scene) => scene.length > 0)
  const bench: Bench = {
    node: await findNode(24),
    redis: await startRedis(),
    postgres: await startPostgres({ settings: postgresSettings }),
    say,
    busyMax: 0,
  }
  try {
    const limits = await once(bench, 'limits', { measure: 'limits', jobs: quick ? 50_000 : 200_000 })
    const measured = new Map<RowSpec, Pair[]>()
    for (const scene of chosen) await compare(bench, scene, pairs, measured)
    const specs = chosen.flat()
    const run: Run = {
      rows: specs.map((spec) => rowOf(spec, measured.get(spec) as Pair[])),
      invalid: disturbed(specs, measured),
      limits,
      versions: await allVersions(bench, versions),
      settings: { Postgres: postgresSettings, Redis: { save: '', appendonly: 'no' }, ...tasksOf(specs) },
      machine: `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`,
      pairs,
      quick,
      busyMax: bench.busyMax,
      at: new Date().toISOString(),
    }
    console.log(json ? jsonOf(run) : textOf(run, specs))
    if (args.includes('--write')) writeFileSync(new URL('../RESULTS.md', import.meta.url), pageOf(run, specs))
    return run.invalid.length > 0 ? 1 : 0
  } finally {
    await bench.redis.close()
    await bench.postgres.close()
  }
}

/** Pair by pair; every other one the other way round, so that neither side always has the warmer servers. */
async function compare(bench: Bench, scene: Scene, pairs: number, into: Map<RowSpec, Pair[]>): Promise<void> {
  const wanted = scene.flatMap((spec) => [
    { side: 'regrow' as const, measure: spec.regrow },
    ...Object.values(spec.peers).map((each) => ({ side: 'bullmq' as const, measure: each })),
  ])
  for (let pair = 0; pair < pairs; pair++) {
    const done = new Map<string, Figures>()
    for (const each of pair % 2 === 0 ? wanted : wanted.toReversed()) {
      const name = nameOf(each.side, each.measure)
      if (!done.has(name)) done.set(name, await once(bench, each.side, each.measure.task))
    }
    for (const spec of scene) {
      const of = (side: Side, each: Measure) => done.get(nameOf(side, each))?.[each.figure] ?? Number.NaN
      const peersOf = Object.entries(spec.peers).map(([name, each]) => [name, of('bullmq', each)] as const)
      const found = { regrow: of('regrow', spec.regrow), peers: Object.fromEntries(peersOf) }
      into.set(spec, [...(into.get(spec) ?? []), found])
      const all = [['regrow', found.regrow] as const, ...peersOf].map(([name, figure]) => `${name} ${shown(figure)}`)
      bench.say(`${spec.id} ${pair + 1}/${pairs}: ${all.join(', ')} ${spec.unit}`)
    }
  }
}

const nameOf = (side: Side, { task }: Measure) => `${side} ${JSON.stringify(task)}`

/** One measure on servers that hold nothing else. */
async function once(bench: Bench, side: Side, task: Task): Promise<Figures> {
  const { postgres, redis, node } = bench
  const database = 'bench'
  await postgres.dropDatabase(database)
  const url = await postgres.createDatabase(database)
  await table(url, task.jobs)
  await redis.command('FLUSHALL')
  bench.busyMax = Math.max(bench.busyMax, await quiet(quietMs))
  return measure(node, side, { ...task, redis: redis.url(), postgres: url })
}

/** Pending rows; vacuumed, and written to disk before anybody measures. */
async function table(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    create table rows (id bigint primary key, state text not null);
    create table uuid_rows (id uuid primary key);
    insert into rows select n, 'pending' from generate_series(1, ${count}) n;
    create index rows_pending on rows (id) where state = 'pending';`)
  await client.query('vacuum (analyze) rows')
  await client.query('checkpoint')
  await client.end()
}

/** What BullMQ did too slowly, each baseline once. */
function disturbed(specs: readonly RowSpec[], measured: ReadonlyMap<RowSpec, readonly Pair[]>): string[] {
  const found = specs.flatMap((spec) => {
    const values = (measured.get(spec) ?? []).map((pair) => pair.peers.bullmq as number)
    return (spec.baseline && tooSlow(spec.baseline, values)) || []
  })
  return [...new Set(found)]
}

async function allVersions(bench: Bench, fetched: Readonly<Record<string, string>>) {
  const own = (path: string) =>
    JSON.parse(readFileSync(new URL(`../../${path}package.json`, import.meta.url), 'utf8')).version
  const info = String(await bench.redis.command('INFO', 'server'))
  const client = new pg.Client({ connectionString: bench.postgres.url() })
  await client.connect()
  const { rows } = await client.query('show server_version')
  await client.end()
  return {
    regrow: own(''),
    '@redis/client': own('node_modules/@redis/client/'),
    ...fetched,
    Node: execFileSync(bench.node, ['--version'], { encoding: 'utf8' }).trim(),
    Redis: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
    PostgreSQL: String(rows[0].server_version),
  }
}

const tasksOf = (specs: readonly RowSpec[]) =>
  Object.fromEntries(
    specs.map(({ id, regrow, peers: all }) => [
      id,
      { regrow: regrow.task, ...Object.fromEntries(Object.entries(all).map(([name, each]) => [name, each.task])) },
    ]),
  )
