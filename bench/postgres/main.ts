// npm run bench -- postgres: regrow on Postgres alone against pg-boss and graphile-worker on the same server, pair by pair,
// under one Node. `--quick` takes fewer jobs, `--json` prints one object, `--write` writes its section of bench/RESULTS.md and
// the chart, `--only postgres.drain` some rows, `--pairs 5` more pairs.
import { readFileSync, writeFileSync } from 'node:fs'
import { findNode, startPostgres } from '../../tools/services/index.ts'
import { against } from '../compare/against.ts'
import { type Pair, rowOf } from '../compare/figures.ts'
import { withSection } from '../compare/page.ts'
import { peers } from '../compare/peers.ts'
import { type Bench, jsonOf, type Run, sectionOf, textOf } from '../compare/report.ts'
import type { RowSpec, RowText } from '../compare/row.ts'
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
import { bloat, bloatPage, bloatRow, bloatRowOf, bloatTask, bloatText } from './bloat.ts'
import { chartOf } from './chart.ts'
import { scenes } from './rows.ts'

/** The comparison, as it is shown. */
export const postgresComparison: Bench = {
  name: 'postgres',
  title: 'The Postgres queue against pg-boss and graphile-worker',
  peers: { 'pg-boss': 'pg-boss', 'graphile-worker': 'graphile-worker' },
}

const resultsFile = new URL('../RESULTS.md', import.meta.url)
const chartFile = new URL('../postgres-bloat.svg', import.meta.url)

/** Answers the exit code: 1 when the run is not valid. */
export async function postgresBench(args: readonly string[]): Promise<number> {
  const options = optionsOf(args, { whole: 3, quick: 1 })
  const say = (line: string) => console.error(line)
  const fetched = options.against ? {} : await peers(say, ['pg-boss', 'graphile-worker', 'pg'])
  const wanted = chosen(scenes(options.quick), options)
  const postgres = await startPostgres({ settings: postgresSettings })
  const ground: Ground = {
    node: await findNode(24),
    // Jobs of peers need rows only where handlers update them.
    ready: async (side, { jobs, update }) => ({
      postgres: await freshDatabase(postgres, side === 'regrow' || side === 'limits' || update ? jobs : 0),
    }),
    say,
    quietMs: options.quick ? 500 : 5_000,
    busyMax: 0,
  }
  try {
    if (options.against) return await against(ground, wanted.flat(), options)
    const limits = await once(ground, 'limits', { measure: 'limits', jobs: options.quick ? 50_000 : 200_000 })
    const measured = new Map<RowSpec, Pair[]>()
    for (const scene of wanted) await compare(ground, scene, options.pairs, measured)
    const task = bloatTask(options.quick)
    const course = bloatRow.id.startsWith(options.only) ? await bloat(ground, postgres.url(), task) : null
    const specs: RowText[] = [...wanted.flat(), ...(course ? [bloatRow] : [])]
    const run: Run & { bloat?: unknown } = {
      rows: [
        ...wanted.flat().map((spec) => rowOf(spec, measured.get(spec) as Pair[])),
        ...(course ? [bloatRowOf(course)] : []),
      ],
      invalid: disturbed(measured),
      limits,
      versions: { ...(await versionsOf(ground.node, postgres)), ...fetched },
      settings: {
        Postgres: postgresSettings,
        ...tasksOf(wanted.flat()),
        ...(course ? { [bloatRow.id]: { all: task, Postgres: { autovacuum_naptime: '4s' } } } : {}),
      },
      machine: machine(),
      pairs: options.pairs,
      quick: options.quick,
      busyMax: ground.busyMax,
      at: new Date().toISOString(),
      ...(course ? { bloat: course } : {}),
    }
    console.log(options.json ? jsonOf(run) : textOf(postgresComparison, run, specs, course ? bloatText(course) : []))
    if (options.write) {
      const section = sectionOf(postgresComparison, run, specs, course ? bloatPage(course, 'postgres-bloat.svg') : [])
      writeFileSync(resultsFile, withSection(readFileSync(resultsFile, 'utf8'), postgresComparison.name, section))
      if (course) writeFileSync(chartFile, chartOf(course))
    }
    return run.invalid.length > 0 ? 1 : 0
  } finally {
    await postgres.close()
  }
}
