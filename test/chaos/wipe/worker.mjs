// A worker process of `npm run chaos -- wipe`. When it began, opened its store and started each key goes into a file of its own,
// written before the key does anything: a kill a moment later leaves the line there. Plain JavaScript on a build of the
// sources, since it is started every few seconds. Settings come as JSON in the first argument: WipeWorkerSettings.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const { build, store, leaseMs, folder, concurrency, batch, takesMs } = JSON.parse(process.argv[2])
const file = openSync(`${folder}/${process.pid}-${Math.round(performance.timeOrigin)}.log`, 'a')
const note = (...words) => writeSync(file, `${Date.now()} ${words.join(' ')}\n`)
note('begun')
const { regrow } = await import(`${build}/index.js`)
const { operate } = await import(`${build}/operate/index.js`)

async function driver() {
  if (store.url) return (await import(`${build}/drivers/postgres/index.js`)).postgres(store.url)
  return (await import(`${build}/drivers/pglite/index.js`)).pglite(store.directory)
}

const app = regrow({ store: await driver(), lease: leaseMs, migrate: false })
let started = false
const pending = `select id from rows where state = 'pending'`
// The default interval of a sweep: what is fast here is the healing.
const mark = app
  .job('row.mark', { key: 'bigint', pending: { text: pending, values: [] }, batch })
  .handle(async (ids, ctx) => {
    started = true
    for (const id of ids) note('start', id)
    await sleep(Math.random() * 2 * takesMs)
    await ctx.tx((tx) =>
      tx.query(
        `with done as (update rows set state = 'done' where id = any ($1::text::bigint[]))
        insert into effects (id, pid) select unnest($1::text::bigint[]), $2::int`,
        [`{${ids.join(',')}}`, process.pid],
      ),
    )
  })

app.on('queue.lost', ({ how, epoch }) => note('lost', how, epoch))
app.on('queue.down', ({ error }) => note('down', error))
app.on('loop.failed', ({ loop, error }) => note('failed', loop, String(error).split('\n')[0]))
app.on('loop.stalled', ({ loop }) => note('stalled', loop))

await operate(app).queue()
note('open')
const worker = app.work({ handlers: [mark], concurrency })
process.on('SIGTERM', async () => {
  await worker.stop({ grace: '5s' })
  await app.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(0))
await worker.ready
note('ready')
if (store.url) process.send('ready')

// Nobody else can look into a PGlite while this process has it. It counts as ready when it has started something: on a
// machine with much else to do, it would be killed before that again and again.
while (store.directory) {
  await sleep(500)
  const { rows } = await app.transaction((tx) => tx.query(`select count(*)::int as n from (${pending}) x`))
  if (started || rows[0].n === 0) process.send({ left: rows[0].n })
}
