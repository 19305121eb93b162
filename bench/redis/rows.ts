// The rows of the comparison, in the order in which they are measured: what regrow does, and what BullMQ does for the same.
import { type Measure, perSecond, type RowSpec, type Scene } from '../compare/row.ts'

const million = 1_000_000

/** Sizes that were tried on two cores and found best, for each side. */
const sizes = {
  regrow: {
    none: { concurrency: 2_000 },
    many: { concurrency: 10, batch: 500 },
    one: { concurrency: 500 },
  },
  bullmq: {
    bulk: { chunk: 1_000 },
    four: { chunk: 1_000, abreast: 4 },
    none: { concurrency: 100 },
    many: { concurrency: 500, pool: 4 },
    one: { concurrency: 500, pool: 16, pipelining: true },
  },
} as const

/** `quick`: fewer jobs, the same rows. */
export function scenes(quick: boolean): readonly Scene[] {
  const size = (whole: number, short: number) => (quick ? short : whole)
  return [
    bulk(size(200_000, 50_000)),
    drainNone({ own: size(400_000, 100_000), peers: size(100_000, 30_000) }),
    drainClaim({ many: size(200_000, 60_000), one: size(30_000, 10_000) }),
    pickup(size(500, 200)),
    bytes(size(100_000, 50_000)),
    rebuild(size(million, 100_000)),
    recover(size(50_000, 20_000)),
  ]
}

function bulk(jobs: number): Scene {
  const shared = { unit: 'jobs/s', better: 'higher', guard: '–', jobs } as const
  const [keys, inputs] = [
    { measure: 'bulk', jobs },
    { measure: 'bulk', jobs, data: 'input' },
  ] as const
  return [
    {
      ...shared,
      id: 'redis.bulk',
      title: 'bulk enqueue of keys whose rows exist',
      mark: 10,
      regrow: perSecond(keys),
      peers: { bullmq: perSecond({ ...keys, settings: sizes.bullmq.bulk }) },
      limit: 'redisPush',
      baselines: { bullmq: { what: 'BullMQ bulk', unit: 'jobs/s', better: 'higher', value: 29_000 } },
    },
    {
      ...shared,
      id: 'redis.bulk.four',
      title: 'the same by four callers at once, on both sides',
      mark: null,
      regrow: perSecond({ ...keys, settings: { abreast: 4 } }),
      peers: { bullmq: perSecond({ ...keys, settings: sizes.bullmq.four }) },
      limit: 'redisPush',
    },
    {
      ...shared,
      id: 'redis.bulk.intents',
      title: 'bulk enqueue of inputs; regrow commits them to Postgres',
      mark: 1.5,
      regrow: perSecond(inputs),
      peers: { bullmq: perSecond({ ...inputs, settings: sizes.bullmq.bulk }) },
      limit: 'postgresInsert',
    },
  ]
}

/** Drains are rates: the quicker side gets more jobs, so that its start weighs no more than the other's. */
function drainNone({ own, peers }: { own: number; peers: number }): Scene {
  return [
    {
      id: 'redis.drain.none',
      title: 'drain, empty handlers, the check included',
      unit: 'jobs/s',
      better: 'higher',
      guard: 'none',
      mark: 5,
      jobs: own,
      regrow: perSecond({ measure: 'drain', jobs: own, guard: 'none', settings: sizes.regrow.none }),
      peers: { bullmq: perSecond({ measure: 'drain', jobs: peers, settings: sizes.bullmq.none }) },
      limit: 'postgresCheck',
      baselines: { bullmq: { what: 'BullMQ drain', unit: 'jobs/s', better: 'higher', value: 11_000 } },
    },
  ]
}

function drainClaim({ many, one }: { many: number; one: number }): Scene {
  const shared = { unit: 'jobs/s', better: 'higher', guard: 'claim' } as const
  const each = { measure: 'drain', jobs: one, update: 'one' } as const
  const peer = perSecond({ ...each, settings: sizes.bullmq.one })
  const gathered = perSecond({ ...each, update: 'many', settings: sizes.bullmq.many })
  return [
    {
      ...shared,
      id: 'redis.drain.claim.many',
      title: 'drain, rows marked done in batches',
      mark: 3,
      jobs: many,
      regrow: perSecond({ measure: 'drain', jobs: many, update: 'many', settings: sizes.regrow.many }),
      // Jobs that wait for each other and share a statement are the quickest that handlers of single jobs can do.
      peers: { bullmq: peer, 'bullmq, gathered': gathered },
      limit: 'postgresUpdateMany',
    },
    {
      ...shared,
      id: 'redis.drain.claim',
      title: 'drain, each handler marks its row by a statement of ctx.tx',
      mark: 1.3,
      jobs: one,
      regrow: perSecond({ ...each, settings: sizes.regrow.one }),
      peers: { bullmq: peer },
      limit: 'postgresUpdateOne',
    },
  ]
}

function pickup(jobs: number): Scene {
  const row = (guard: 'none' | 'claim', mark: number): RowSpec => ({
    id: `redis.pickup.${guard}`,
    title: 'pick-up by an idle worker, p50 from the enqueue call to the handler',
    unit: 'ms',
    better: 'lower',
    guard,
    mark,
    jobs,
    regrow: { task: { measure: 'pickup', jobs, guard }, figure: 'p50' },
    peers: { bullmq: { task: { measure: 'pickup', jobs }, figure: 'p50' } },
    limit: 'redisRoundTrip',
    baselines: { bullmq: { what: 'BullMQ pick-up p50', unit: 'ms', better: 'lower', value: 0.77 } },
  })
  return [row('none', 0.6), row('claim', 2)]
}

function bytes(jobs: number): Scene {
  const row = (data: 'short' | 'uuid', mark: number): RowSpec => {
    const measure: Measure = { task: { measure: 'bytes', jobs, data }, figure: 'bytes' }
    const [regrow, peers] = [measure, { bullmq: measure }]
    const title = `Redis memory per queued job, ${data === 'uuid' ? 'uuid' : 'short'} keys`
    return {
      id: `redis.bytes.${data}`,
      title,
      unit: 'B',
      better: 'lower',
      guard: '–',
      mark,
      jobs,
      regrow,
      peers,
      limit: null,
    }
  }
  return [row('short', 0.4), row('uuid', 0.65)]
}

function rebuild(jobs: number): Scene {
  return [
    {
      id: 'redis.rebuild',
      title: `FLUSHALL with ${jobs.toLocaleString('en')} pending rows: all hints are back; BullMQ: addBulk of as many`,
      unit: 's',
      better: 'lower',
      guard: 'claim',
      mark: 0.12,
      jobs,
      regrow: { task: { measure: 'rebuild', jobs }, figure: 'seconds' },
      peers: { bullmq: { task: { measure: 'bulk', jobs, settings: sizes.bullmq.bulk }, figure: 'seconds' } },
      limit: 'redisPush',
      baselines: {
        bullmq: {
          what: `BullMQ addBulk of ${jobs.toLocaleString('en')}`,
          unit: 's',
          better: 'lower',
          value: (30 * jobs) / million,
        },
      },
    },
  ]
}

function recover(jobs: number): Scene {
  return [
    {
      id: 'redis.recover',
      title: 'FLUSHALL until the first wiped key runs, default settings; no peer: the mark is in seconds',
      unit: 's',
      better: 'lower',
      guard: 'claim',
      mark: 1.5,
      jobs,
      regrow: { task: { measure: 'recover', jobs }, figure: 'seconds' },
      peers: {},
      limit: null,
    },
  ]
}
