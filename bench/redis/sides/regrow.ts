// One measure of regrow in a process of its own: the task comes as JSON in the first argument, the figures leave as JSON
// on stdout. The database is new, and its table `rows` holds as many pending rows as the task has jobs.
import { createClient } from '@redis/client'
import pg from 'pg'
import { type App, regrow, sql } from 'regrow'
import { postgres } from 'regrow/postgres'
import { redis } from 'regrow/redis'
import { z } from 'zod'
import type { Figures, Places, Task } from '../task.ts'

const task: Task & Places = JSON.parse(process.argv[2] as string)
const { jobs, guard = 'claim', settings = {} } = task
const setting = (name: string, standard: number) => Number(settings[name] ?? standard)
const admin = createClient({ url: task.redis })

const measures: Partial<Record<Task['measure'], () => Promise<Figures>>> = {
  bulk,
  bytes,
  drain,
  pickup,
  rebuild,
  recover,
}
await admin.connect()
const figures = await measures[task.measure]?.()
console.log(JSON.stringify(figures))
// Handlers that hold a slot for ever would keep it alive.
process.exit(0)

/** `bounds`: of the queue, where the measure is not about the default ones. */
function declare(bounds: { maxHints?: number } = { maxHints: 10_000_000 }) {
  const app = regrow({
    store: postgres(task.postgres, { max: setting('pool', 10) }),
    queue: redis(task.redis, bounds),
    guard,
  })
  app.on('loop.failed', ({ loop, error }) => console.error(loop, error))
  const row = app.job('row', { key: 'bigint', pending: sql`select id from rows where state = 'pending'` })
  return { app, row }
}

/** Seconds, jobs per second, and processor microseconds of this process per job. */
function watch(): () => Figures {
  const start = performance.now()
  const cpu = process.cpuUsage()
  return () => {
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    return { seconds, perSecond: jobs / seconds, cpuPerJob: (user + system) / jobs }
  }
}

function uuid(n: number): string {
  return `018f0000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** An enqueue of so many keys or inputs, as the task asks for. */
function enqueuing(app: App, row: ReturnType<typeof declare>['row']): (count: number) => Promise<void> {
  const some = <T>(count: number, item: (n: number) => T) => Array.from({ length: count }, (_, n) => item(n + 1))
  const all = async (count: number, report: Promise<{ added: number }>) => {
    const { added } = await report
    if (added !== count) throw new Error(`${added} of ${count} hints are new`)
  }
  if (task.data === 'uuid') {
    const job = app.job('uuid', { key: 'uuid', pending: sql`select id from uuid_rows` })
    return (count) => all(count, job.enqueueMany(some(count, uuid)))
  }
  if (task.data === 'input') {
    const job = app.job('email', { input: z.object({ to: z.string(), subject: z.string() }) })
    const input = (n: number) => ({ to: `user-${n}@example.org`, subject: 'Welcome' })
    return (count) => all(count, job.enqueueMany(some(count, input)))
  }
  return (count) => all(count, row.enqueueMany(some(count, BigInt)))
}

async function bulk(): Promise<Figures> {
  const { app, row } = declare()
  const enqueue = enqueuing(app, row)
  await enqueue(Math.min(jobs, 5_000))
  await admin.flushAll()
  const stop = watch()
  await enqueue(jobs)
  const took = stop()
  await app.close()
  return took
}

async function bytes(): Promise<Figures> {
  const { app, row } = declare()
  const enqueue = enqueuing(app, row)
  await enqueue(1_000)
  await admin.flushAll()
  const before = await usedMemory()
  await enqueue(jobs)
  const after = await usedMemory()
  await app.close()
  return { bytes: (after - before) / jobs }
}

async function usedMemory(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))?.[1])
}

async function drain(): Promise<Figures> {
  await fill()
  const { app, row } = declare()
  const handler = handlers(row)
  let left = jobs
  const drained = new Promise<void>((resolve) => {
    app.on('job.settled', ({ state }) => {
      if (state === 'done' && --left === 0) resolve()
    })
  })
  const stop = watch()
  const worker = app.work({ handlers: [handler], concurrency: setting('concurrency', 10) })
  await drained
  const took = stop()
  await worker.stop()
  await app.close()
  return took
}

/** Handlers as the task asks for; statements have names, as those of the peers have. */
function handlers(row: ReturnType<typeof declare>['row']) {
  const many = { name: 'many', text: `update rows set state = 'done' where id = any($1::text::bigint[])` }
  const one = { name: 'one', text: `update rows set state = 'done' where id = $1` }
  if (task.update === 'many')
    return row.handleMany((ids, ctx) => ctx.tx((tx) => tx.query({ ...many, values: [`{${ids.join(',')}}`] })), {
      batch: setting('batch', 100),
    })
  if (task.update === 'one') return row.handle((id, ctx) => ctx.tx((tx) => tx.query({ ...one, values: [String(id)] })))
  return row.handle(() => {})
}

/**
 * All hints are there before the drain begins, pushed by an app of its own. The sweep that a new queue begins with is over
 * by then, and found nothing: it comes once a minute, and a drain takes seconds.
 */
async function fill(): Promise<void> {
  const { app, row } = declare()
  const db = new pg.Client({ connectionString: task.postgres })
  await db.connect()
  await db.query(`alter table rows rename to rows_later; create table rows (like rows_later including all)`)
  const swept = new Promise((resolve) => app.on('sweep.passed', resolve))
  const worker = app.work({ handlers: [row.handle(() => {})] })
  await swept
  await worker.stop()
  await db.query(`drop table rows; alter table rows_later rename to rows`)
  await enqueuing(app, row)(jobs)
  await app.close()
  await db.end()
}

async function pickup(): Promise<Figures> {
  const { app, row } = declare()
  let started: (at: number) => void = () => {}
  const handler = row.handle((id, ctx) => {
    started(performance.now())
    return ctx.tx((tx) => tx.query(`update rows set state = 'done' where id = $1`, [String(id)]))
  })
  let settled = () => {}
  app.on('job.settled', () => settled())
  const db = new pg.Client({ connectionString: task.postgres })
  await db.connect()
  // No row is pending yet: a sweep would take the work away.
  await db.query(`update rows set state = 'waiting'`)
  const worker = app.work({ handlers: [handler] })
  await worker.ready
  const waits: number[] = []
  for (let n = 0; n < jobs; n++) {
    await db.query(`update rows set state = 'pending' where id = $1`, [n + 1])
    // Time to become idle again.
    await new Promise((resolve) => setTimeout(resolve, 8))
    const begun = new Promise<number>((resolve) => (started = resolve))
    const over = new Promise<void>((resolve) => (settled = resolve))
    const sent = performance.now()
    void row.enqueue(BigInt(n + 1))
    waits.push((await begun) - sent)
    await over
  }
  await worker.stop()
  await app.close()
  await db.end()
  // The first tenth warms up.
  waits.splice(0, Math.ceil(jobs / 10))
  waits.sort((a, b) => a - b)
  const at = (share: number) => waits[Math.floor(share * (waits.length - 1))] as number
  return { p50: at(0.5), p95: at(0.95) }
}

/** A handler that keeps its slot until the worker stops: the queue stays as it is. */
function held(_: unknown, ctx: { signal: AbortSignal }): Promise<void> {
  return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
}

/** From FLUSHALL until every pending row but the one that runs has its hint again. */
async function rebuild(): Promise<Figures> {
  const { app, row } = declare()
  const worker = app.work({ handlers: [row.handle(held)], concurrency: 1 })
  const started = new Promise((resolve) => app.on('job.started', resolve))
  await worker.ready
  await started
  await full(app)
  const healed = new Promise<{ pushed: number }>((resolve) => app.on('queue.healed', resolve))
  const stop = watch()
  await admin.flushAll()
  const { pushed } = await healed
  const took = stop()
  if (pushed < jobs - 1) throw new Error(`${pushed} of ${jobs} hints are back`)
  await worker.stop({ grace: 0 })
  await app.close()
  return took
}

/** Waits until the sweep has brought a hint for every row. */
async function full(app: App): Promise<void> {
  for (;;) {
    const due = (await app.status()).jobs[0]?.hints?.due ?? 0
    if (due >= jobs - 1) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/**
 * From FLUSHALL until the first key starts whose hint it wiped; everything as by default. Keys start in their order, and a
 * worker never has more of them than slots: what lies further ahead was in the queue.
 */
async function recover(): Promise<Figures> {
  const { app, row } = declare({})
  const ahead = 20
  let highest = 0
  let wiped = { from: Number.POSITIVE_INFINITY, started: (_at: number) => {} }
  const handler = row.handle(async (id, ctx) => {
    highest = Math.max(highest, Number(id))
    if (Number(id) >= wiped.from) wiped.started(performance.now())
    await new Promise((resolve) => setTimeout(resolve, 5))
    await ctx.tx((tx) => tx.query(`update rows set state = 'done' where id = $1`, [String(id)]))
  })
  const worker = app.work({ handlers: [handler] })
  await worker.ready
  await settledTimes(app, 200)
  const first = new Promise<number>((resolve) => (wiped = { from: Number.POSITIVE_INFINITY, started: resolve }))
  const at = performance.now()
  const flushed = admin.flushAll()
  wiped.from = highest + ahead
  await flushed
  const seconds = ((await first) - at) / 1000
  await worker.stop()
  await app.close()
  return { seconds }
}

async function settledTimes(app: App, times: number): Promise<void> {
  let left = times
  await new Promise<void>((resolve) => {
    app.on('job.settled', () => {
      if (--left === 0) resolve()
    })
  })
}
