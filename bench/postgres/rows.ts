// The rows of the comparison, in the order in which they are measured: what regrow does, and what pg-boss and graphile-worker
// do for the same. The row of the long transactions is in bloat.ts.
import type { Baseline, RowKind } from '../compare/figures.ts'
import { type Measure, perSecond, type RowSpec, type Scene } from '../compare/row.ts'
import type { Task } from '../compare/task.ts'

const million = 1_000_000

/** Sizes that were tried on two cores and found best, for each side. */
const sizes = {
  regrow: {
    claim: { concurrency: 6_000 },
    many: { concurrency: 10, batch: 1_000 },
    none: { concurrency: 2_000 },
  },
  'pg-boss': {
    bulk: { chunk: 5_000 },
    four: { chunk: 5_000, abreast: 4 },
    single: { pool: 50 },
    drain: { chunk: 5_000, abreast: 4, batch: 500, workers: 2 },
    many: { chunk: 5_000, abreast: 4, batch: 500, workers: 2 },
  },
  'graphile-worker': {
    bulk: { chunk: 5_000 },
    four: { chunk: 5_000, abreast: 4 },
    single: { pool: 50 },
    drain: { chunk: 5_000, abreast: 4, concurrency: 24, local: 2_000 },
    many: { chunk: 5_000, abreast: 4, concurrency: 500, local: 2_000 },
  },
} as const

type Peer = 'pg-boss' | 'graphile-worker'
type Marks = Readonly<Record<Peer, number>>

/** The same measure of both peers, each with its own sizes. */
function both(figure: Measure['figure'], task: Task, size?: keyof (typeof sizes)[Peer]): Record<Peer, Measure> {
  const of = (peer: Peer): Measure => ({
    task: { ...task, ...(size ? { settings: sizes[peer][size] } : {}) },
    figure,
  })
  return { 'pg-boss': of('pg-boss'), 'graphile-worker': of('graphile-worker') }
}

/** What both are known to do; of a range its lower end. */
function known(
  what: string,
  unit: string,
  better: RowKind['better'],
  boss: number,
  graphile: number,
): Record<Peer, Baseline> {
  return {
    'pg-boss': { what: `pg-boss ${what}`, unit, better, value: boss },
    'graphile-worker': { what: `graphile-worker ${what}`, unit, better, value: graphile },
  }
}

const marks = (boss: number, graphile: number): Marks => ({ 'pg-boss': boss, 'graphile-worker': graphile })

/** `quick`: fewer jobs, the same rows. */
export function scenes(quick: boolean): readonly Scene[] {
  const size = (whole: number, short: number) => (quick ? short : whole)
  return [
    bulk({ keys: size(million, 100_000), jobs: size(200_000, 50_000) }),
    single({ own: size(40_000, 8_000), peers: size(6_000, 1_500) }),
    drains({ own: size(200_000, 50_000), none: size(400_000, 100_000), peers: size(100_000, 30_000) }),
    drainMany({ own: size(300_000, 50_000), peers: size(100_000, 20_000) }),
    pickup(size(500, 150)),
    bytes(size(300_000, 50_000)),
    rebuild(size(million, 100_000)),
  ]
}

/** Rates, as the drains below: `keys` of regrow's own take less time than the peers' `jobs`. */
function bulk({ keys, jobs }: { keys: number; jobs: number }): Scene {
  const shared = { unit: 'jobs/s', better: 'higher', guard: '–', jobs } as const
  const own: Task = { measure: 'bulk', jobs: keys }
  const peers: Task = { measure: 'bulk', jobs }
  const inputs: Task = { measure: 'bulk', jobs, data: 'input' }
  return [
    {
      ...shared,
      id: 'postgres.bulk',
      title: 'bulk enqueue of keys whose rows exist',
      mark: marks(5, 5),
      regrow: perSecond(own),
      peers: both('perSecond', peers, 'bulk'),
      limit: 'postgresPush',
      baselines: known('bulk', 'jobs/s', 'higher', 30_000, 27_000),
    },
    {
      ...shared,
      id: 'postgres.bulk.four',
      title: 'the same by four callers at once, on every side',
      mark: null,
      regrow: perSecond({ ...own, settings: { abreast: 4 } }),
      peers: both('perSecond', peers, 'four'),
      limit: 'postgresPush',
    },
    {
      ...shared,
      id: 'postgres.bulk.intents',
      title: 'bulk enqueue of inputs, committed and hinted: what the peers promise too',
      mark: marks(2, 2),
      regrow: perSecond(inputs),
      peers: both('perSecond', inputs, 'bulk'),
      limit: 'postgresInsert',
    },
    {
      ...shared,
      id: 'postgres.bulk.intents.four',
      title: 'the same by four callers at once, on every side',
      mark: null,
      regrow: perSecond({ ...inputs, settings: { abreast: 4 } }),
      peers: both('perSecond', inputs, 'four'),
      limit: 'postgresInsert',
    },
  ]
}

function single({ own, peers }: { own: number; peers: number }): Scene {
  return [
    {
      id: 'postgres.single',
      title: 'single enqueue of inputs by 100 concurrent callers, each of which waits for its commit',
      unit: 'jobs/s',
      better: 'higher',
      guard: '–',
      mark: marks(5, 5),
      jobs: own,
      regrow: perSecond({ measure: 'single', jobs: own, data: 'input' }),
      peers: both('perSecond', { measure: 'single', jobs: peers, data: 'input' }, 'single'),
      limit: 'postgresUpdateOne',
    },
  ]
}

/** Drains are rates: the quicker side gets more jobs, so that its start weighs no more than the others'. */
function drains({ own, none, peers }: { own: number; none: number; peers: number }): Scene {
  const shared = { unit: 'jobs/s', better: 'higher', jobs: own } as const
  const empty = both('perSecond', { measure: 'drain', jobs: peers }, 'drain')
  return [
    {
      ...shared,
      id: 'postgres.drain.claim',
      title: 'drain, intents with an empty handler',
      guard: 'claim',
      mark: marks(2, 1.5),
      regrow: perSecond({ measure: 'drain', jobs: own, data: 'input', settings: sizes.regrow.claim }),
      peers: empty,
      limit: 'postgresPop',
      baselines: known('drain', 'jobs/s', 'higher', 27_000, 31_000),
    },
    {
      ...shared,
      id: 'postgres.drain.none',
      title: 'drain, empty handlers, the check included',
      guard: 'none',
      mark: marks(3, 2),
      regrow: perSecond({ measure: 'drain', jobs: none, guard: 'none', settings: sizes.regrow.none }),
      peers: empty,
      limit: 'postgresPop',
    },
  ]
}

function drainMany({ own, peers }: { own: number; peers: number }): Scene {
  return [
    {
      id: 'postgres.drain.claim.many',
      title: 'drain, rows marked done in batches',
      unit: 'jobs/s',
      better: 'higher',
      guard: 'claim',
      mark: marks(2, 1.5),
      jobs: own,
      regrow: perSecond({ measure: 'drain', jobs: own, update: 'many', settings: sizes.regrow.many }),
      peers: both('perSecond', { measure: 'drain', jobs: peers, update: 'many' }, 'many'),
      limit: 'postgresUpdateMany',
    },
  ]
}

function pickup(jobs: number): Scene {
  return [
    {
      id: 'postgres.pickup.claim',
      title: 'pick-up by an idle worker, p50 from the enqueue call to the handler',
      unit: 'ms',
      better: 'lower',
      guard: 'claim',
      mark: marks(0.5, 0.75),
      jobs,
      regrow: { task: { measure: 'pickup', jobs }, figure: 'p50' },
      peers: both('p50', { measure: 'pickup', jobs }),
      limit: 'postgresRoundTrip',
      baselines: known('pick-up p50', 'ms', 'lower', 3.4, 2.2),
    },
  ]
}

function bytes(jobs: number): Scene {
  const task: Task = { measure: 'bytes', jobs, data: 'short' }
  return [
    {
      id: 'postgres.bytes',
      title: 'bytes per queued job, tables and indexes, right after a bulk enqueue of short keys',
      unit: 'B',
      better: 'lower',
      guard: '–',
      mark: marks(0.4, 0.4),
      jobs,
      regrow: { task, figure: 'bytes' },
      peers: both('bytes', task, 'bulk'),
      limit: null,
    },
  ]
}

function rebuild(jobs: number): Scene {
  const count = jobs.toLocaleString('en')
  return [
    {
      id: 'postgres.rebuild',
      title: `TRUNCATE of the queue with ${count} pending rows: all hints are back; peers: bulk insert of as many`,
      unit: 's',
      better: 'lower',
      guard: 'claim',
      mark: marks(0.15, 0.2),
      jobs,
      regrow: { task: { measure: 'rebuild', jobs }, figure: 'seconds' },
      peers: both('seconds', { measure: 'bulk', jobs }, 'bulk'),
      limit: 'postgresPush',
      baselines: known(`bulk insert of ${count}`, 's', 'lower', (24 * jobs) / million, (18 * jobs) / million),
    },
  ] satisfies RowSpec[]
}
