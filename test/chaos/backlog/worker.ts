// A worker process of `npm run chaos -- backlog`: marks rows done, many at a time, and counts how often each was. It holds its first
// calls until it is told that the queue is full.
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../../src/index.ts'

export interface BacklogWorkerSettings {
  readonly url: string
  readonly maxHints: number
  readonly batch: number
  readonly concurrency: number
}

const { url, maxHints, batch, concurrency } = JSON.parse(process.argv[2] as string) as BacklogWorkerSettings
const app = regrow({ store: postgres(url, { maxHints }), migrate: false })
const job = app.job('row.mark', { key: 'bigint', pending: sql`select id from rows where state = 'pending'`, batch })
const full = new Promise<void>((resolve) => {
  process.once('message', () => resolve())
})
const mark = job.handle(async (ids, ctx) => {
  await full
  await ctx.tx((tx) =>
    tx.query(`update rows set state = 'done', runs = runs + 1 where id = any ($1::text::bigint[])`, [
      `{${ids.join(',')}}`,
    ]),
  )
})
const worker = app.work({ handlers: [mark], concurrency })
process.on('SIGTERM', async () => {
  await worker.stop({ grace: '5s' })
  await app.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(0))
await worker.ready
process.send?.('ready')
