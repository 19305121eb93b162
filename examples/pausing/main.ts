// The kill switch of a job: a person pauses and resumes it; then the program pauses it by itself for a while, because the
// provider fails again and again. Start it with: node --import jiti/register examples/pausing/main.ts
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'
import { z } from 'zod'

const db = new PGlite()
await db.exec(`create table reports (id int primary key, built boolean not null default false)`)

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`)

const app = regrow({ store: pglite(db) })
const provider = { up: true, calls: 0, sent: [] as string[] }

const mail = app.job('mail.send', {
  input: z.object({ to: z.string() }),
  retry: { delay: '100ms', backoff: 'fixed' },
  run({ to }) {
    provider.calls++
    if (!provider.up) throw new Error('503, try again later')
    provider.sent.push(to)
    say(`sent to ${to}`)
  },
})
const report = app.job('report.build', {
  key: 'int',
  pending: sql`select id from reports where not built`,
  run: (id, ctx) => ctx.tx((tx) => tx.query(`update reports set built = true where id = $1`, [id])),
})

say('ann pauses mail.send')
await app.pause('mail.send', { reason: 'the provider announced an hour of maintenance', author: 'ann' })
const { held } = await mail.enqueueMany([{ to: 'ada' }, { to: 'bob' }])
say(`two mails are enqueued meanwhile: ${held} are stored and held`)
await db.query(`insert into reports (id) values (1)`)
await report.enqueue(1)
const { runs } = await app.drain()
say('another job runs as ever')
assert.deepEqual([held, runs, provider.calls], [2, 1, 0])

say('she resumes it')
await app.resume('mail.send', { author: 'ann' })
await app.drain()

// A breaker: three failures with no success in between, and the job rests for a second.
let failures = 0
app.on('job.settled', ({ job, error }) => {
  if (job !== 'mail.send') return
  failures = error === null ? 0 : failures + 1
  if (failures === 3)
    void app
      .pause('mail.send', { reason: 'three failures in a row', for: '1s' })
      .then(() => say('the breaker pauses it'))
})
const over = new Promise<void>((resolve) => {
  app.on('pause.over', ({ job }) => {
    failures = 0
    provider.up = true
    say(`the pause of ${job} is over, and the provider is back`)
    resolve()
  })
})

provider.up = false
const worker = app.work() // it ends pauses whose time is over
await mail.enqueueMany([{ to: 'cem' }, { to: 'dora' }])
await over
await worker.stop()
await app.drain() // what the worker has left
const { rows } = await db.query<{ action: string }>(`select action from regrow.audit order by id`)
await app.close()
await db.close()

assert.deepEqual(provider.sent.toSorted(), ['ada', 'bob', 'cem', 'dora'], 'each once')
assert.ok(provider.calls >= 4 + 3 && provider.calls <= 4 + 8, `${provider.calls} calls: the provider had its rest`)
assert.deepEqual(
  rows.map(({ action }) => action),
  ['pause', 'resume', 'pause', 'pause.over'],
)
console.log('four mails, each sent once; none was tried while ann had paused them')
