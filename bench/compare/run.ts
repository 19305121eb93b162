// The paired loop of a comparison, for whichever servers: measures of regrow and of its peers follow each other, each in a
// process of its own on servers that hold nothing else. In: rows. Out: pairs, and why they may say nothing.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import pg from 'pg'
import type { PostgresServer } from '../../tools/services/index.ts'
import { type Pair, shown, tooSlow } from './figures.ts'
import type { Measure, RowSpec, Scene } from './row.ts'
import { measure, quiet, type Side, sideOf } from './side.ts'
import type { Figures, Places, Task } from './task.ts'

/** Settings of the Postgres that all sides use. */
export const postgresSettings = { max_connections: 100, shared_buffers: '256MB', max_wal_size: '4GB' }

/** What a run needs beside its rows. */
export interface Ground {
  readonly node: string
  /** Empties the servers for one measure, and tells where they are. */
  readonly ready: (side: Side, task: Task) => Promise<Places>
  readonly say: (line: string) => void
  /** How long a measure waits for a machine that has other things to do. */
  readonly quietMs: number
  /** The share of the machine that was busy before a measure, at its highest so far. */
  busyMax: number
}

/** What `npm run bench -- NAME` was told. */
export interface Options {
  /** Fewer jobs, the same rows. */
  readonly quick: boolean
  readonly json: boolean
  readonly write: boolean
  /** Rows whose names begin so; empty: all. */
  readonly only: string
  readonly pairs: number
  /** Another checkout of regrow to compare with, in place of the peers; empty: none. */
  readonly against: string
}

/** `pairs`: how many by default. */
export function optionsOf(args: readonly string[], pairs: { whole: number; quick: number }): Options {
  const value = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  const quick = args.includes('--quick')
  if (args.includes('--write') && args.includes('--only'))
    throw new Error('--write replaces the whole section of bench/RESULTS.md: leave --only out.')
  if (args.includes('--write') && args.includes('--against'))
    throw new Error('--write keeps a comparison with the peers: leave --against out.')
  return {
    quick,
    json: args.includes('--json'),
    write: args.includes('--write'),
    only: value('--only') ?? '',
    pairs: Number(value('--pairs') ?? (quick ? pairs.quick : pairs.whole)),
    against: value('--against') ?? '',
  }
}

/** The scenes with the rows that were asked for. */
export const chosen = (scenes: readonly Scene[], { only }: Options): Scene[] =>
  scenes.map((scene) => scene.filter(({ id }) => id.startsWith(only))).filter((scene) => scene.length > 0)

/** One measure on servers that hold nothing else. */
export async function once<Answer = Figures>(ground: Ground, side: Side, task: Task, here?: URL): Promise<Answer> {
  const places = await ground.ready(side, task)
  ground.busyMax = Math.max(ground.busyMax, await quiet(ground.quietMs))
  return measure<Answer>(ground.node, side, { ...task, ...places }, here)
}

/** Pair by pair; every other one the other way round, so that neither side always has the warmer servers. */
export async function compare(ground: Ground, scene: Scene, pairs: number, into: Map<RowSpec, Pair[]>): Promise<void> {
  const wanted = scene.flatMap((spec) => [
    { side: 'regrow' as const, measure: spec.regrow },
    ...Object.entries(spec.peers).map(([name, each]) => ({ side: sideOf(name), measure: each })),
  ])
  for (let pair = 0; pair < pairs; pair++) {
    const done = new Map<string, Figures>()
    for (const each of pair % 2 === 0 ? wanted : wanted.toReversed()) {
      const name = nameOf(each.side, each.measure)
      if (!done.has(name)) done.set(name, await once(ground, each.side, each.measure.task))
    }
    for (const spec of scene) {
      const of = (side: Side, each: Measure) => done.get(nameOf(side, each))?.[each.figure] ?? Number.NaN
      const peersOf = Object.entries(spec.peers).map(([name, each]) => [name, of(sideOf(name), each)] as const)
      const found = { regrow: of('regrow', spec.regrow), peers: Object.fromEntries(peersOf) }
      into.set(spec, [...(into.get(spec) ?? []), found])
      const all = [['regrow', found.regrow] as const, ...peersOf].map(([name, figure]) => `${name} ${shown(figure)}`)
      ground.say(`${spec.id} ${pair + 1}/${pairs}: ${all.join(', ')} ${spec.unit}`)
    }
  }
}

const nameOf = (side: Side, { task }: Measure) => `${side} ${JSON.stringify(task)}`

/** What peers did too slowly, each baseline once. */
export function disturbed(measured: ReadonlyMap<RowSpec, readonly Pair[]>): string[] {
  const found = [...measured].flatMap(([{ baselines = {} }, pairs]) =>
    Object.entries(baselines).flatMap(([peer, baseline]) => {
      const values = pairs.map(({ peers }) => peers[peer] ?? Number.NaN)
      return tooSlow(baseline, values) ?? []
    }),
  )
  return [...new Set(found)]
}

/** A database of its own with so many pending rows; vacuumed, and written to disk before anybody measures. */
export async function freshDatabase(postgres: PostgresServer, count: number): Promise<string> {
  await postgres.dropDatabase('bench')
  const url = await postgres.createDatabase('bench')
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
  return url
}

/** Cores, processor and memory: never a name. */
export const machine = () =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`

/** Versions of regrow, of packages of its own, of Node and of Postgres. */
export async function versionsOf(node: string, postgres: PostgresServer, packages: readonly string[] = []) {
  const own = (path: string): string =>
    JSON.parse(readFileSync(new URL(`../../${path}package.json`, import.meta.url), 'utf8')).version
  const client = new pg.Client({ connectionString: postgres.url() })
  await client.connect()
  const { rows } = await client.query('show server_version')
  await client.end()
  return {
    regrow: own(''),
    ...Object.fromEntries(packages.map((name) => [name, own(`node_modules/${name}/`)])),
    Node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
    PostgreSQL: String(rows[0].server_version),
  }
}

/** What each side was told for each row. */
export const tasksOf = (specs: readonly RowSpec[]) =>
  Object.fromEntries(
    specs.map(({ id, regrow, peers }) => [
      id,
      { regrow: regrow.task, ...Object.fromEntries(Object.entries(peers).map(([name, each]) => [name, each.task])) },
    ]),
  )
