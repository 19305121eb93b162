// The code of the design compiles as it stands there, and running it opens nothing.

import { regrow, sql } from 'regrow'
import { operate } from 'regrow/operate'
import { postgres } from 'regrow/postgres'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { sendInvoice } from './mutual/invoice.ts'
import { shipOrder } from './mutual/order.ts'

const provider = {
  async create(_id: string, _options: { idempotencyKey: string; signal: AbortSignal }) {},
}

const app = regrow({ store: postgres(process.env.DATABASE_URL) })

const createDatabase = app.job('database.create', {
  key: 'uuid',
  pending: sql`select id from databases where state = 'pending'`,
  async run(id, ctx) {
    await provider.create(id, { idempotencyKey: ctx.idempotencyKey, signal: ctx.signal })
    await ctx.tx((tx) => tx.query(`update databases set state = 'ready' where id = $1`, [id]))
  },
})

const backup = app.job('backup.run', {
  key: 'bigint',
  pending: sql`select id, next_run_at as version, next_run_at as run_at from backup_policies where next_run_at <= now() + interval '10 minutes'`,
  sweep: { every: '5m', jitter: '30m' },
  retry: { attempts: 20, backoff: 'exponential' },
  timeout: '10m',
  uniqueUntil: 'success',
  batch: 100,
})
const welcomeEmail = app.job('email.welcome', { input: z.object({ to: z.string() }) })

const report = app.job('report.nightly', { schedule: { cron: '0 3 * * *', tz: 'Europe/Berlin', missed: 'once' } })

const handlers = [
  backup.handle(async (ids, ctx) => {
    for (const id of ids) ctx.fail(id, new Error('no'))
  }),
  welcomeEmail.handle(async ({ to }, ctx) => ctx.log.info(to)),
  report.handle(async (slot, ctx) => ctx.log.info(slot.at.toISOString())),
]

/** Compiled, never called: it would need the database. */
async function uses(id: string, ids: bigint[], to: string) {
  await createDatabase.enqueue(id)
  const worker = app.work({ concurrency: 50, handlers })
  await backup.enqueueMany(ids)
  await backup.enqueue(1n, { jitter: '30m' })
  await backup.enqueue(1n, { jitter: ['5m', '30m'] })
  await welcomeEmail.enqueue({ to }, { in: '10m' })
  await welcomeEmail.enqueue({ to }, { at: new Date() })
  await app.transaction(async (tx) => {
    await tx.query('select 1')
    await welcomeEmail.enqueue({ to }, { tx })
  })
  await operate(app).schedules.add('digest.ada', {
    job: welcomeEmail,
    input: { to },
    cron: '0 8 * * MON',
    tz: 'Asia/Kolkata',
  })
  await operate(app).schedules.add('backup.1', {
    job: backup,
    key: 1n,
    every: '1h',
    missed: { all: 3 },
    overlap: 'queue',
  })
  await worker.stop({ grace: '25s' })
}

test('the code of the design declares four jobs and opens nothing', () => {
  expect(uses).toBeTypeOf('function')
  expect(
    operate(app)
      .jobs()
      .map(({ name, kind, handled }) => [name, kind, handled]),
  ).toEqual([
    ['database.create', 'pending', true],
    ['backup.run', 'pending', false],
    ['email.welcome', 'input', false],
    ['report.nightly', 'schedule', false],
  ])
})

test('two files whose jobs enqueue each other load in either order', () => {
  expect([shipOrder.job.name, sendInvoice.job.name]).toEqual(['order.ship', 'invoice.send'])
})
