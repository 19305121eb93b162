// One measure of graphile-worker in a process of its own: the task comes as JSON in the first argument, the figures leave as
// JSON on stdout. Its sizes come with the task: bench/postgres/rows.ts has those that were best for it on two cores.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { steady } from '../sides/steady.ts'
import { settleTables, sizeOf } from '../sides/tables.ts'
import { callers, dataOf, idle, waitsOf, watch } from '../sides/timing.ts'

const task = JSON.parse(process.argv[2])
const { jobs, settings = {} } = task
const { chunk = 1_000, abreast = 1, concurrency = 24, local = 500, delay = 0, pool = 10 } = settings
const schema = 'graphile_worker'
const silent = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message)
})

const utils = await makeWorkerUtils({
  preset: { worker: { connectionString: task.postgres, maxPoolSize: pool, schema } },
  logger: silent,
})
await utils.migrate()
const measures = { bulk, single, bytes, drain, pickup, steady: load }
const figures = await measures[task.measure]()
console.log(JSON.stringify(figures))
process.exit(0)

async function fill(count = jobs) {
  let at = 0
  const add = async () => {
    while (at < count) {
      const from = at
      at += chunk
      const page = []
      for (let n = from; n < Math.min(count, from + chunk); n++)
        page.push({ identifier: 'row', payload: dataOf(n + 1, task.data) })
      await utils.addJobs(page)
    }
  }
  await Promise.all(Array.from({ length: abreast }, add))
}

async function bulk() {
  await fill(Math.min(jobs, 50_000))
  await utils.withPgClient((client) => client.query(`truncate ${schema}._private_jobs`))
  const stop = watch(jobs)
  await fill()
  const took = stop()
  const { rows } = await utils.withPgClient((client) => client.query(`select count(*) from ${schema}.jobs`))
  if (Number(rows[0].count) !== jobs) throw new Error(`${rows[0].count} of ${jobs} jobs wait`)
  return took
}

async function single() {
  await callers(500, 100, (n) => utils.addJob('row', dataOf(n, task.data)))
  const stop = watch(jobs)
  await callers(jobs, 100, (n) => utils.addJob('row', dataOf(n, task.data)))
  return stop()
}

async function bytes() {
  const before = await sizeOf(task.postgres, schema)
  await fill()
  return { bytes: ((await sizeOf(task.postgres, schema)) - before) / jobs }
}

function working(taskList, batching) {
  return run({
    preset: {
      worker: {
        connectionString: task.postgres,
        schema,
        concurrentJobs: concurrency,
        maxPoolSize: pool,
        ...(batching && {
          localQueue: { size: local },
          completeJobBatchDelay: delay,
          failJobBatchDelay: delay,
        }),
      },
    },
    taskList,
    logger: silent,
    noHandleSignals: true,
  })
}

/** Handlers that wait for each other and share a statement: the quickest that handlers of single jobs can do. */
function gathered() {
  const db = new pg.Pool({ connectionString: task.postgres, max: 4 })
  const many = { name: 'many', text: `update rows set state = 'done' where id = any($1::bigint[])` }
  let waiting = []
  const send = () => {
    const all = waiting
    waiting = []
    db.query({ ...many, values: [`{${all.map(({ id }) => id).join(',')}}`] }).then(
      () => {
        for (const { resolve } of all) resolve()
      },
      (error) => {
        for (const { reject } of all) reject(error)
      },
    )
  }
  return ({ id }) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ id, resolve, reject }) === 1) setImmediate(send)
    })
}

async function drain() {
  await fill()
  await settleTables(task.postgres)
  const handler = task.update === 'many' ? gathered() : () => {}
  let left = jobs
  let last
  const begun = new Promise((resolve) => (last = resolve))
  const stop = watch(jobs)
  const runner = await working(
    {
      row: async (payload) => {
        await handler(payload)
        if (--left === 0) last()
      },
    },
    true,
  )
  await begun
  // A handler that returned is not yet completed.
  await runner.stop()
  return stop()
}

async function pickup() {
  let begun = () => {}
  await working({ row: () => begun(performance.now()) }, settings.batching)
  await idle(500)
  const waits = []
  for (let n = 0; n < jobs; n++) {
    await idle()
    const start = new Promise((resolve) => (begun = resolve))
    const sent = performance.now()
    void utils.addJob('row', dataOf(n + 1, task.data))
    waits.push((await start) - sent)
  }
  return waitsOf(waits)
}

async function load() {
  return steady(task, {
    schema,
    client: pg.Client,
    enqueue: (numbers) => utils.addJobs(numbers.map((id) => ({ identifier: 'row', payload: { id } }))),
    work: (began) => working({ row: ({ id }) => began(id) }, settings.batching),
  })
}
