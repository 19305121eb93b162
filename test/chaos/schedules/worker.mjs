// A worker process of `npm run chaos -- schedules`. Each start of a slot goes into a file of its own, written before the handler does
// anything: a kill a moment later leaves the line there. Plain JavaScript on a build of the sources, since it is started every
// few seconds. Settings come as JSON in the first argument: ScheduleWorkerSettings.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const { build, url, redisUrl, leaseMs, folder, takesMs } = JSON.parse(process.argv[2])
const file = openSync(`${folder}/${process.pid}-${Math.round(performance.timeOrigin)}.log`, 'a')
const note = (...words) => writeSync(file, `${Date.now()} ${words.join(' ')}\n`)
const { regrow } = await import(`${build}/index.js`)
const { postgres } = await import(`${build}/drivers/postgres/index.js`)

const queue = redisUrl ? { queue: (await import(`${build}/drivers/redis/index.js`)).redis(redisUrl) } : {}
const app = regrow({ store: postgres(url), ...queue, lease: leaseMs, migrate: false })

const recurring = (name, schedule) =>
  app.job(name, { schedule }).handle(async (slot, ctx) => {
    note('start', slot.schedule, slot.at.getTime())
    await sleep(Math.random() * 2 * takesMs)
    await ctx.tx((tx) =>
      tx.query(`insert into effects (schedule, slot, pid) values ($1, $2::text::timestamptz, $3::int)`, [
        slot.schedule,
        slot.at.toISOString(),
        process.pid,
      ]),
    )
  })
const handlers = [
  recurring('tick', { every: '1s' }),
  // Every instant runs in the end, however late.
  recurring('tick.all', { every: '1s', missed: { all: 1_000 }, overlap: 'allow' }),
]

app.on('schedules.audited', ({ created, orphans }) => note('audited', created, orphans))
app.on('queue.lost', ({ how, epoch }) => note('lost', how, epoch))
app.on('queue.down', ({ error }) => note('down', String(error).split('\n')[0]))
app.on('loop.failed', ({ loop, error }) => note('failed', loop, String(error).split('\n')[0]))
app.on('loop.stalled', ({ loop }) => note('stalled', loop))

const worker = app.work({ handlers })
process.on('SIGTERM', async () => {
  await worker.stop({ grace: '5s' })
  await app.close()
  process.exit(0)
})
process.on('disconnect', () => process.exit(0))
await worker.ready
process.send('ready')
