// A worker process of `npm run chaos -- kill`: rows in batches, one by one and in rounds, each with its effect through ctx.tx. What it
// starts goes into a file of its own, written before anything else: a kill a moment later leaves the line there.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgres } from '../../../src/drivers/postgres/index.ts'
import { type Context, regrow } from '../../../src/index.ts'
import { chaosJobs, failsOnce, failsTwice, type Kind, rounds, type WorkerSettings } from './jobs.ts'

const settings = JSON.parse(process.argv[2] as string) as WorkerSettings
const file = openSync(`${settings.folder}/${process.pid}-${Math.round(performance.timeOrigin)}.log`, 'a')
const note = (...words: unknown[]) => writeSync(file, `${words.join(' ')}\n`)

const app = regrow({ store: postgres(settings.url), lease: settings.leaseMs, migrate: false })
const { many, one, round } = chaosJobs(app, settings.batch)

/** The first thing a run does: it is counted, and a poison key ends the process on the spot. */
async function begin(job: Kind, ids: readonly bigint[]): Promise<void> {
  note('start', job, ids.join(','))
  if (ids.some((id) => id < 0n)) process.kill(process.pid, 'SIGKILL')
  await sleep(10 + Math.random() * settings.takesMs[job])
}

const list = (ids: readonly bigint[]) => `{${ids.join(',')}}`
const effect = `insert into effects (job, key, round, pid) select $1, unnest($2::text::bigint[]), $3, ${process.pid}`
const done = `update rows set state = 'done' where id = any ($1::text::bigint[])`
const failing = `update rows set fails = fails - 1 where id = any ($1::text::bigint[]) and fails > 0 returning id::text`

const handleBatch = many.handle(async (ids, ctx) => {
  await begin('many', ids)
  await ctx.tx(async (tx) => {
    const { rows } = await tx.query(failing, [list(ids)])
    const failed = new Set(rows.map(({ id }) => BigInt(id as string)))
    for (const id of failed) ctx.fail(id, new Error('fails at first'))
    const rest = list(ids.filter((id) => !failed.has(id)))
    await tx.query(effect, ['many', rest, 1])
    await tx.query(done, [rest])
  })
})

/** Fails as often as the row says; its own transaction, which only fences, remembers that it did. */
async function failsFirst(id: bigint, ctx: Context): Promise<void> {
  if (id % 41n !== BigInt(failsOnce) && id % 41n !== BigInt(failsTwice)) return
  const { rows } = await ctx.tx((tx) => tx.query(failing, [list([id])]), { settle: false })
  if (rows.length > 0) throw new Error('fails at first')
}

const handleOne = one.handle(async (id, ctx) => {
  await begin('one', [id])
  await failsFirst(id, ctx)
  await ctx.tx(async (tx) => {
    await tx.query(effect, ['one', list([id]), 1])
    await tx.query(done, [list([id])])
  })
})

/** What it read is stale when it was stopped meanwhile: another worker may have done this round, and be at the next one. */
const handleRound = round.handle(async (id, ctx) => {
  const { rows } = await app.transaction((tx) => tx.query(`select round from rows where id = $1`, [id]))
  await begin('round', [id])
  await failsFirst(id, ctx)
  const now = Number(rows[0]?.round)
  await ctx.tx(async (tx) => {
    await tx.query(effect, ['round', list([id]), now])
    const next = now < rounds ? `round = ${now + 1}` : `state = 'done'`
    await tx.query(`update rows set ${next} where id = $1`, [id])
  })
})

app.on('worker.freed', ({ workers, keys }) => note('freed', workers, keys))
app.on('worker.gone', () => note('gone'))
app.on('job.lease_lost', ({ job, key }) => note('lost', job, key))
app.on('loop.failed', ({ loop, error }) =>
  note('failed', loop, String(error instanceof Error ? error.message : error).split('\n')[0]),
)
app.on('loop.stalled', ({ loop }) => note('stalled', loop))

const worker = app.work({ handlers: [handleBatch, handleOne, handleRound], concurrency: settings.concurrency })
process.on('SIGTERM', async () => {
  await worker.stop({ grace: '5s' })
  await app.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(0))
await worker.ready
process.send?.('ready')
