// One measure of BullMQ in a process of its own: the task comes as JSON in the first argument, the figures leave as JSON
// on stdout. Its sizes come with the task: bench/redis/rows.ts has those that were best for BullMQ on two cores.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { dataOf, idle, waitsOf, watch } from '../sides/timing.ts'

const task = JSON.parse(process.argv[2])
const { jobs, settings = {} } = task
const { chunk = 1_000, abreast = 1, concurrency = 10, pool = 10, pipelining = false, auto = false } = settings

const connect = () => new Redis(task.redis, { maxRetriesPerRequest: null, enableAutoPipelining: auto })
const admin = connect()
const queue = new Queue('bench', { connection: connect(), defaultJobOptions: { removeOnComplete: true } })
const measures = { bulk, bytes, drain, pickup }
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
        page.push({ name: 'row', data: dataOf(n + 1, task.data) })
      await queue.addBulk(page)
    }
  }
  await Promise.all(Array.from({ length: abreast }, add))
}

async function bulk() {
  await queue.waitUntilReady()
  await fill(Math.min(jobs, 50_000))
  await admin.flushall()
  const stop = watch(jobs)
  await fill()
  const took = stop()
  const counts = await queue.getJobCounts('waiting')
  if (counts.waiting !== jobs) throw new Error(`${counts.waiting} of ${jobs} jobs wait`)
  return took
}

async function bytes() {
  await fill(1_000)
  await admin.flushall()
  const before = await usedMemory()
  await fill()
  return { bytes: ((await usedMemory()) - before) / jobs }
}

async function usedMemory() {
  const info = await admin.info('memory')
  return Number(/^used_memory:(\d+)/m.exec(info)[1])
}

/** Handlers as a task asks for: nothing, an update per job, or updates that wait for each other and go as one. */
function handlers() {
  if (!task.update) return { handle: async () => {}, end: async () => {} }
  const update = `update rows set state = 'done' where id = $1`
  if (task.update === 'many') {
    const client = new pg.Pool({ connectionString: task.postgres, max: pool })
    const many = `update rows set state = 'done' where id = any($1::bigint[])`
    let waiting = []
    const send = () => {
      const batch = waiting
      waiting = []
      client.query({ name: 'many', text: many, values: [batch.map(({ id }) => id)] }).then(
        () => batch.forEach(({ resolve }) => void resolve()),
        (error) => batch.forEach(({ reject }) => void reject(error)),
      )
    }
    const handle = ({ data }) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ id: data.id, resolve, reject }) === 1) setImmediate(send)
      })
    return { handle, end: () => client.end() }
  }
  if (pipelining) {
    const clients = Array.from(
      { length: pool },
      () => new pg.Client({ connectionString: task.postgres, pipeline: true }),
    )
    const ready = Promise.all(clients.map((client) => client.connect()))
    let turn = 0
    const handle = async ({ data }) => {
      await ready
      await clients[turn++ % pool].query({ name: 'one', text: update, values: [data.id] })
    }
    return { handle, end: () => Promise.all(clients.map((client) => client.end())) }
  }
  const client = new pg.Pool({ connectionString: task.postgres, max: pool })
  return {
    handle: ({ data }) => client.query({ name: 'one', text: update, values: [data.id] }),
    end: () => client.end(),
  }
}

async function drain() {
  await admin.flushall()
  await fill()
  const { handle, end } = handlers()
  let left = jobs
  let resolve
  const drained = new Promise((each) => (resolve = each))
  const stop = watch(jobs)
  const worker = new Worker('bench', handle, {
    connection: connect(),
    concurrency,
    removeOnComplete: { count: 0 },
  })
  worker.on('completed', () => {
    if (--left === 0) resolve()
  })
  worker.on('failed', (_, error) => {
    throw error
  })
  await drained
  const took = stop()
  await worker.close()
  await end()
  return took
}

async function pickup() {
  await admin.flushall()
  let started = () => {}
  const worker = new Worker('bench', async () => started(performance.now()), {
    connection: connect(),
    concurrency,
    removeOnComplete: { count: 0 },
  })
  await worker.waitUntilReady()
  const waits = []
  for (let n = 0; n < jobs; n++) {
    await idle()
    const begun = new Promise((resolve) => (started = resolve))
    const sent = performance.now()
    await queue.add('row', dataOf(n + 1, task.data))
    waits.push((await begun) - sent)
  }
  await worker.close()
  return waitsOf(waits)
}
