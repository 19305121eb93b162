// npm run bench -- redis: regrow on Redis and Postgres against BullMQ on the same servers, pair by pair, under one Node.
// `--quick` takes fewer jobs, `--json` prints one object, `--write` writes its section of bench/RESULTS.md, `--only redis.drain`
// some rows, `--pairs 5` more pairs.
import { readFileSync, writeFileSync } from 'node:fs'
import { findNode, startPostgres, startRedis } from '../../tools/services/index.ts'
import { against } from '../compare/against.ts'
import { type Pair, rowOf } from '../compare/figures.ts'
import { withSection } from '../compare/page.ts'
import { peers } from '../compare/peers.ts'
import { type Bench, jsonOf, type Run, sectionOf, textOf } from '../compare/report.ts'
import type { RowSpec } from '../compare/row.ts'
import {
  chosen,
  compare,
  disturbed,
  freshDatabase,
  type Ground,
  machine,
  once,
  optionsOf,
  postgresSettings,
  tasksOf,
  versionsOf,
} from '../compare/run.ts'
import { scenes } from './rows.ts'

/** The comparison, as it is shown. */
export const redisComparison: Bench = {
  name: 'redis',
  title: 'The Redis queue against BullMQ',
  peers: { bullmq: 'BullMQ' },
}

const resultsFile = new URL('../RESULTS.md', import.meta.url)

/** Answers the exit code: 1 when the run is not valid. */
export async function redisBench(args: readonly string[]): Promise<number> {
  const options = optionsOf(args, { whole: 3, quick: 3 })
  const say = (line: string) => console.error(line)
  const fetched = options.against ? {} : await peers(say, ['bullmq', 'ioredis', 'pg'])
  const wanted = chosen(scenes(options.quick), options)
  const redis = await startRedis()
  const postgres = await startPostgres({ settings: postgresSettings })
  const ground: Ground = {
    node: await findNode(24),
    async ready(_, { jobs }) {
      await redis.command('FLUSHALL')
      return { redis: redis.url(), postgres: await freshDatabase(postgres, jobs) }
    },
    say,
    quietMs: 5_000,
    busyMax: 0,
  }
  try {
    if (options.against) return await against(ground, wanted.flat(), options)
    const limits = await once(ground, 'limits', { measure: 'limits', jobs: options.quick ? 50_000 : 200_000 })
    const measured = new Map<RowSpec, Pair[]>()
    for (const scene of wanted) await compare(ground, scene, options.pairs, measured)
    const specs = wanted.flat()
    const info = String(await redis.command('INFO', 'server'))
    const run: Run = {
      rows: specs.map((spec) => rowOf(spec, measured.get(spec) as Pair[])),
      invalid: disturbed(measured),
      limits,
      versions: {
        ...(await versionsOf(ground.node, postgres, ['@redis/client'])),
        ...fetched,
        Redis: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
      },
      settings: { Postgres: postgresSettings, Redis: { save: '', appendonly: 'no' }, ...tasksOf(specs) },
      machine: machine(),
      pairs: options.pairs,
      quick: options.quick,
      busyMax: ground.busyMax,
      at: new Date().toISOString(),
    }
    console.log(options.json ? jsonOf(run) : textOf(redisComparison, run, specs))
    if (options.write) {
      const section = sectionOf(redisComparison, run, specs)
      writeFileSync(resultsFile, withSection(readFileSync(resultsFile, 'utf8'), redisComparison.name, section))
    }
    return run.invalid.length > 0 ? 1 : 0
  } finally {
    await redis.close()
    await postgres.close()
  }
}
