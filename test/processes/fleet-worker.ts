// A worker process for tests that kill, stop and count real processes. It tells its parent what it does over IPC.
// Settings come as JSON in the first argument; the tables are made by the test. It may be a thread as well.
import { existsSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import pg from 'pg'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'

const settings = JSON.parse(process.argv[2] as string) as {
  url: string
  mode: 'many' | 'hold' | 'one' | 'poison'
  pool: number
  concurrency?: number
  lease?: `${number}s`
  block?: { at: 'check' | 'handler'; until: string }
}

const tell = (message: object) => (parentPort ? parentPort.postMessage(message) : process.send?.(message))

/** Nothing else happens in this process until the file is there; the first time only. */
let blocked = false
function block(at: 'check' | 'handler'): void {
  if (blocked || settings.block?.at !== at) return
  blocked = true
  tell({ blocked: true })
  const cell = new Int32Array(new SharedArrayBuffer(4))
  while (!existsSync(settings.block.until)) Atomics.wait(cell, 0, 0, 20)
}

let statements = 0
const query = pg.Client.prototype.query
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  statements++
  const answer = (query as (...all: unknown[]) => unknown).apply(this, args)
  const text = String((args[0] as { text?: string }).text ?? args[0])
  if (!text.includes('as paused, (') || !(answer instanceof Promise)) return answer
  return answer.then((found: unknown) => {
    block('check')
    return found
  })
} as typeof query

const pool = new pg.Pool({ connectionString: settings.url, max: settings.pool })
const app = regrow({ store: postgres(pool), ...(settings.lease ? { lease: settings.lease } : {}) })
const options = {
  key: 'bigint',
  pending: sql`select id from rows where state = 'pending'`,
  retry: { delay: '100ms' },
  sweep: { every: '5s' },
} as const
const row = () => app.job('row.mark', options)

const list = (ids: readonly bigint[]) => `{${ids.join(',')}}`

const handlers = {
  /** Marks its rows done in one statement, with an effect per row; every twentieth row fails the first time. */
  many: () =>
    app.job('row.mark', { ...options, batch: 100 }).handle((ids, ctx) =>
      ctx.tx(async (tx) => {
        const { rows } = await tx.query(
          `insert into tried select id from unnest($1::text::bigint[]) id where id % 20 = 0 on conflict do nothing returning id`,
          [list(ids)],
        )
        for (const { id } of rows) ctx.fail(BigInt(id as string), new Error('the first try fails'))
        const failed = new Set(rows.map(({ id }) => String(id)))
        const rest = list(ids.filter((id) => !failed.has(String(id))))
        await tx.query(`insert into effects (id) select unnest($1::text::bigint[])`, [rest])
        await tx.query(`update rows set state = 'done' where id = any ($1::text::bigint[])`, [rest])
      }),
    ),
  /** Says that it began, waits until the test lets it go, then has its effect. */
  hold: () =>
    row().handle(async (id, ctx) => {
      tell({ started: String(id) })
      block('handler')
      await released
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update rows set state = 'done' where id = $1`, [id])
      })
    }),
  /** Row 1 ends its process after a moment; the others take a second. */
  poison: () =>
    row().handle(async (id, ctx) => {
      tell({ started: String(id) })
      await new Promise((resolve) => setTimeout(resolve, id === 1n ? 300 : 1_000))
      if (id === 1n) process.kill(process.pid, 'SIGKILL')
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update rows set state = 'done' where id = $1`, [id])
      })
      tell({ done: String(id) })
    }),
  one: () =>
    row().handle((id, ctx) =>
      ctx.tx(async (tx) => {
        await tx.query(`insert into effects (id) values ($1)`, [id])
        await tx.query(`update rows set state = 'done' where id = $1`, [id])
      }),
    ),
}

let release: () => void = () => {}
const released = new Promise<void>((resolve) => {
  release = resolve
})

app.on('job.lease_lost', ({ key }) => tell({ leaseLost: key }))
app.on('worker.gone', () => tell({ gone: true }))
app.on('worker.freed', (freed) => tell({ freed }))
app.on('loop.failed', ({ loop, error }) => tell({ failed: `${loop}: ${error instanceof Error ? error.stack : error}` }))
const worker = app.work({
  handlers: [handlers[settings.mode]()],
  ...(settings.concurrency ? { concurrency: settings.concurrency } : {}),
})
await worker.ready
tell({ ready: true })
process.on('message', async (message) => {
  if (message === 'release') release()
  if (message !== 'stop') return
  await worker.stop({ grace: '5s' })
  tell({ statements })
  await pool.end()
  process.disconnect()
})
