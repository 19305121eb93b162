// A worker process that lives shortly: it works until SIGTERM, stops gracefully, and ends. Plain JavaScript on a build of the
// sources, since hundreds of them are started. Settings come as JSON in the first argument.
const { build, url } = JSON.parse(process.argv[2])
const { regrow, sql } = await import(`${build}/index.js`)
const { postgres } = await import(`${build}/drivers/postgres/index.js`)

const app = regrow({ store: postgres(url, { max: 3 }), migrate: false })
let started = 0
app.job('row.mark', {
  key: 'bigint',
  pending: sql`select id from rows where state = 'pending'`,
  sweep: { every: '2s' },
  async run(id, ctx) {
    if (++started === 3) process.send({ busy: true })
    // Every fiftieth row outlasts the grace of the first process that gets it; half of these even ignore the abort.
    if (id % 50n === 0n && (await isFirst(ctx, id))) {
      process.send({ held: String(id) })
      await new Promise((_, reject) => {
        if (id % 100n === 0n) ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
      })
    }
    await ctx.tx(async (tx) => {
      await tx.query(`insert into effects (id) values ($1)`, [id])
      await tx.query(`update rows set state = 'done' where id = $1`, [id])
    })
  },
})
app.on('worker.gone', () => process.send({ wrong: 'it was declared dead' }))
app.on('job.settled', ({ key, state, error }) => {
  if (error !== null) process.send({ wrong: `${key} ${state}: ${error}` })
})

async function isFirst(ctx, id) {
  const insert = `insert into tried (id) values ($1) on conflict do nothing returning id`
  const { rows } = await ctx.tx((tx) => tx.query(insert, [id]), { settle: false })
  return rows.length === 1
}

const worker = app.work({ concurrency: 8 })
process.once('SIGTERM', async () => {
  await worker.stop({ grace: '200ms' })
  await app.close()
  process.disconnect()
})
await worker.ready
process.send({ ready: true })
