// One measure of regrow in a process of its own: the task comes as JSON in the first argument, the figures leave as JSON
// on stdout. The database is new, and its table `rows` holds as many pending rows as the task has jobs.
import pg from 'pg'
import { type PendingJob, sql } from 'regrow'
import { z } from 'zod'
import type { Figures, Steady, Task } from '../compare/task.ts'
import { type Declared, declare, enqueuing, setting, task, weight, wipe } from './ground.ts'
import { rebuild, recover } from './heal.ts'
import { steady } from './steady.ts'
import { settleTables } from './tables.ts'
import { callers, idle, inputOf, waitsOf, watch } from './timing.ts'

const { jobs } = task
const measures: Partial<Record<Task['measure'], () => Promise<Figures | Steady>>> = {
  bulk,
  single,
  bytes,
  drain,
  pickup,
  rebuild,
  recover,
  steady: load,
}
const figures = await measures[task.measure]?.()
console.log(JSON.stringify(figures))
// Handlers that hold a slot for ever would keep it alive.
process.exit(0)

async function bulk(): Promise<Figures> {
  const declared = declare()
  const enqueue = enqueuing(declared)
  await enqueue(Math.min(jobs, 50_000))
  await wipe()
  const stop = watch(jobs)
  await enqueue(jobs)
  const took = stop()
  await declared.app.close()
  return took
}

/** Callers that each wait for their own enqueue of an input. */
async function single(): Promise<Figures> {
  const { app, email } = declare()
  const enqueue = (n: number) => email.enqueue(inputOf(n))
  await callers(500, 100, enqueue)
  const stop = watch(jobs)
  await callers(jobs, 100, enqueue)
  const took = stop()
  await app.close()
  return took
}

async function bytes(): Promise<Figures> {
  const declared = declare()
  const enqueue = enqueuing(declared)
  await enqueue(1_000)
  await wipe()
  const before = await weight()
  await enqueue(jobs)
  const after = await weight()
  await declared.app.close()
  return { bytes: (after - before) / jobs }
}

async function drain(): Promise<Figures> {
  await fill()
  const declared = declare()
  const { app } = declared
  const handler = handlers(declared)
  let left = jobs
  const drained = new Promise<void>((resolve) => {
    app.on('job.settled', ({ state }) => {
      if (state === 'done' && --left === 0) resolve()
    })
  })
  const stop = watch(jobs)
  const worker = app.work({ handlers: [handler], concurrency: setting('concurrency', 10) })
  await drained
  const took = stop()
  await worker.stop()
  await app.close()
  return took
}

type Batches = PendingJob<'bigint', pg.PoolClient, number>

/** Handlers as the task asks for; statements have names, as those of the peers have. */
function handlers({ row, email }: Declared) {
  const many = { name: 'many', text: `update rows set state = 'done' where id = any($1::text::bigint[])` }
  if (task.data === 'input') return email.handle(() => {})
  if (task.update === 'many')
    return (row as unknown as Batches).handle((ids, ctx) =>
      ctx.tx((tx) => tx.query({ ...many, values: [`{${ids.join(',')}}`] })),
    )
  if (task.update === 'one')
    return row.handle((id, ctx) => ctx.tx(sql`update rows set state = 'done' where id = ${id}`))
  return row.handle(() => {})
}

/**
 * All hints are there before the drain begins, pushed by an app of its own. The sweep that a new queue begins with is over
 * by then, and found nothing: it comes once a minute, and a drain takes seconds.
 */
async function fill(): Promise<void> {
  const declared = declare()
  const { app, row, email } = declared
  const db = new pg.Client({ connectionString: task.postgres })
  await db.connect()
  await db.query(`alter table rows rename to rows_later; create table rows (like rows_later including all)`)
  const handler = task.data === 'input' ? email.handle(() => {}) : row.handle(() => {})
  const worker = app.work({ handlers: [handler] })
  await worker.ready
  await swept(db, handler.job.name)
  await worker.stop()
  await db.query(`drop table rows; alter table rows_later rename to rows`)
  await enqueuing(declared)(jobs)
  await app.close()
  await db.end()
  if (!task.redis) await settleTables(task.postgres)
}

/**
 * Resolves when no sweep of that job is due. A new queue begins with one, and has another when the first one had begun before its mark
 * was seen: what is measured must not find that under way, nor some of the time.
 */
async function swept(db: pg.Client, job: string): Promise<void> {
  const isOver = `select from regrow.sweeps where job = $1 and holder is null and next_at > now() + interval '10 s'
    and exists (select from regrow.marks)`
  for (let times = 0; times < 10; await idle(30)) times = (await db.query(isOver, [job])).rowCount === 1 ? times + 1 : 0
}

/**
 * Who enqueues is another app, as it is another process in life: within one app hints are handed to an idle worker, and nobody would
 * have to be woken.
 */
async function pickup(): Promise<Figures> {
  const { app, row } = declare()
  const sender = declare()
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
  // Nor may the first one be under way when rows become pending: who it starts, nobody waits for.
  const worker = app.work({ handlers: [handler] })
  await worker.ready
  await swept(db, handler.job.name)
  const waits: number[] = []
  for (let n = 0; n < jobs; n++) {
    await db.query(`update rows set state = 'pending' where id = $1`, [n + 1])
    await idle()
    const begun = new Promise<number>((resolve) => (started = resolve))
    const over = new Promise<void>((resolve) => (settled = resolve))
    const sent = performance.now()
    void sender.row.enqueue(BigInt(n + 1))
    waits.push((await begun) - sent)
    await over
  }
  await worker.stop()
  await app.close()
  await sender.app.close()
  await db.end()
  return waitsOf(waits)
}

/** Inputs, since peers record their jobs too; their table is swept, deleted from and full of dead rows like the queue. */
async function load(): Promise<Steady> {
  const { app } = declare({})
  const job = app.job('steady', { input: z.object({ id: z.number() }) })
  return steady(task, {
    schema: 'regrow',
    client: pg.Client,
    // Beats, turns and the freeing of the dead skip locked rows, too.
    table: 'regrow.hints',
    enqueue: (numbers) => job.enqueueMany(numbers.map((id) => ({ id }))),
    work: (began) => app.work({ handlers: [job.handle(({ id }) => began(id))], concurrency: 50 }).ready,
  })
}
