// One measure of pg-boss in a process of its own: the task comes as JSON in the first argument, the figures leave as JSON
// on stdout. Its sizes come with the task: bench/postgres/rows.ts has those that were best for it on two cores.
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { steady } from '../sides/steady.ts'
import { settleTables, sizeOf } from '../sides/tables.ts'
import { callers, dataOf, idle, waitsOf, watch } from '../sides/timing.ts'

const task = JSON.parse(process.argv[2])
const { jobs, settings = {} } = task
const { chunk = 1_000, abreast = 1, batch = 100, workers = 1, pool = 10, transactional = false } = settings
const schema = 'pgboss'
const queue = 'bench'
/** As fast as it can be: the next batch is fetched as soon as one is done, by several workers. */
const busy = { batchSize: batch, localConcurrency: workers, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }

const boss = await started()
await boss.createQueue(queue, { notify: task.measure === 'pickup' || task.measure === 'steady' })
const measures = { bulk, single, bytes, drain, pickup, steady: load }
const figures = await measures[task.measure]()
console.log(JSON.stringify(figures))
process.exit(0)

/** Nothing that it does beside the jobs falls into a measure of seconds; of a long one it does all that it does by default. */
async function started() {
  const made = new PgBoss({
    connectionString: task.postgres,
    schema,
    max: pool,
    useListenNotify: task.measure === 'pickup' || task.measure === 'steady',
    ...(task.measure === 'steady' ? {} : { supervise: false, schedule: false }),
  })
  made.on('error', (error) => {
    throw error
  })
  await made.start()
  return made
}

async function fill(count = jobs) {
  let at = 0
  const add = async () => {
    while (at < count) {
      const from = at
      at += chunk
      const page = []
      for (let n = from; n < Math.min(count, from + chunk); n++) page.push({ data: dataOf(n + 1, task.data) })
      await boss.insert(queue, page)
    }
  }
  await Promise.all(Array.from({ length: abreast }, add))
}

async function bulk() {
  await fill(Math.min(jobs, 50_000))
  await boss.deleteAllJobs(queue)
  const stop = watch(jobs)
  await fill()
  const took = stop()
  const [{ queuedCount }] = await boss.getQueueStats(queue, { force: true })
  if (queuedCount !== jobs) throw new Error(`${queuedCount} of ${jobs} jobs wait`)
  return took
}

async function single() {
  await callers(500, 100, (n) => boss.send(queue, dataOf(n, task.data)))
  const stop = watch(jobs)
  await callers(jobs, 100, (n) => boss.send(queue, dataOf(n, task.data)))
  return stop()
}

async function bytes() {
  const before = await sizeOf(task.postgres, schema)
  await fill()
  return { bytes: ((await sizeOf(task.postgres, schema)) - before) / jobs }
}

async function drain() {
  await fill()
  await settleTables(task.postgres)
  const db = new pg.Pool({ connectionString: task.postgres, max: workers })
  const many = { name: 'many', text: `update rows set state = 'done' where id = any($1::bigint[])` }
  const update = (list) => ({ ...many, values: [`{${list.map(({ data }) => data.id).join(',')}}`] })
  const handlers = {
    none: async () => {},
    many: transactional
      ? (list, tx) => tx.executeSql(many.text, update(list).values)
      : async (list) => void (await db.query(update(list))),
  }
  let left = jobs
  const counted = new Promise((resolve) => {
    const handler = handlers[task.update ?? 'none']
    handlers.counted = async (list, tx) => {
      await handler(list, tx)
      left -= list.length
      if (left === 0) resolve()
    }
  })
  const stop = watch(jobs)
  await boss.work(queue, { ...busy, ...(transactional && { transactional }) }, handlers.counted)
  await counted
  // A handler that returned is not yet completed.
  await boss.offWork(queue, { wait: true })
  const took = stop()
  await db.end()
  return took
}

async function pickup() {
  let begun = () => {}
  const sender = await started()
  await boss.work(queue, { pollingIntervalSeconds: 0.5 }, async () => begun(performance.now()))
  await idle(1_000)
  const waits = []
  for (let n = 0; n < jobs; n++) {
    await idle()
    const start = new Promise((resolve) => (begun = resolve))
    const sent = performance.now()
    void sender.send(queue, dataOf(n + 1, task.data))
    waits.push((await start) - sent)
  }
  return waitsOf(waits)
}

async function load() {
  return steady(task, {
    schema,
    client: pg.Client,
    enqueue: (numbers) =>
      boss.insert(
        queue,
        numbers.map((id) => ({ data: { id } })),
      ),
    work: (began) =>
      boss.work(queue, { ...busy, notifyPollingIntervalSeconds: 0.5 }, async (list) => {
        for (const { data } of list) began(data.id)
      }),
  })
}
