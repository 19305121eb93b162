// Measures of regrow after a loss of the queue: until every hint is back, and until the first lost key runs again.

import type { App } from 'regrow'
import { operate } from 'regrow/operate'
import type { Figures } from '../compare/task.ts'
import { declare, task, wipe } from './ground.ts'
import { watch } from './timing.ts'

const { jobs } = task

/** A handler that keeps its slot until the worker stops: the queue stays as it is. */
function held(_: unknown, ctx: { signal: AbortSignal }): Promise<void> {
  return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
}

/** From the wipe until every pending row but the one that runs has its hint again. */
export async function rebuild(): Promise<Figures> {
  const { app, row } = declare()
  const worker = app.work({ handlers: [row.handle(held)], concurrency: 1 })
  const started = new Promise((resolve) => app.on('job.started', resolve))
  await worker.ready
  await started
  await full(app)
  const healed = new Promise<{ pushed: number }>((resolve) => app.on('queue.healed', resolve))
  const stop = watch(jobs)
  await wipe()
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
    const due = (await operate(app).status()).jobs.find(({ job }) => job === 'row')?.hints?.due ?? 0
    if (due >= jobs - 1) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/**
 * From the wipe until the first key starts whose hint it wiped; everything as by default. Keys start in their order, and a
 * worker never has more of them than slots: what lies further ahead was in the queue.
 */
export async function recover(): Promise<Figures> {
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
  const lost = wipe()
  wiped.from = highest + ahead
  await lost
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
