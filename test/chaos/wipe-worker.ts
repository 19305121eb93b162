// A worker process of `npm run wipes`. When it began, opened its store and started each key goes into a file of its own,
// written before the key does anything: a kill a moment later leaves the line there.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pglite } from '../../src/backends/pglite/index.ts'
import { postgres } from '../../src/backends/postgres/index.ts'
import { type App, regrow } from '../../src/index.ts'
import { pendingRows, type WipeWorkerSettings, wipeJob } from './wipe-jobs.ts'

const settings = JSON.parse(process.argv[2] as string) as WipeWorkerSettings
const { store, leaseMs, folder, concurrency, batch, takesMs } = settings
const file = openSync(`${folder}/${process.pid}-${Math.round(performance.timeOrigin)}.log`, 'a')
const note = (...words: unknown[]) => writeSync(file, `${Date.now()} ${words.join(' ')}\n`)
note('begun')

const lease = { lease: leaseMs, migrate: false }
const app: Pick<App, 'job' | 'on' | 'queue' | 'work' | 'transaction' | 'close'> =
  'url' in store
    ? regrow({ store: postgres(store.url), ...lease })
    : (regrow({ store: pglite(store.directory), ...lease }) as never)
const mark = wipeJob(app).handleMany(
  async (ids, ctx) => {
    for (const id of ids) note('start', id)
    await sleep(Math.random() * 2 * takesMs)
    await ctx.tx((tx) =>
      tx.query(
        `with done as (update rows set state = 'done' where id = any ($1::text::bigint[]))
        insert into effects (id, pid) select unnest($1::text::bigint[]), $2::int`,
        [`{${ids.join(',')}}`, process.pid],
      ),
    )
  },
  { batch },
)

app.on('queue.lost', ({ how, epoch }) => note('lost', how, epoch))
app.on('queue.down', ({ error }) => note('down', error))
app.on('loop.failed', ({ loop, error }) =>
  note('failed', loop.replaceAll(' ', '_'), String(error instanceof Error ? error.message : error).split('\n')[0]),
)
app.on('loop.stalled', ({ loop }) => note('stalled', loop))

await app.queue()
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
process.send?.('ready')

// Nobody else can look into a PGlite while this process has it.
if ('directory' in store)
  for (;;) {
    await sleep(500)
    const { rows } = await app.transaction((tx) => tx.query(pendingRows))
    process.send?.({ left: rows[0]?.n })
  }
