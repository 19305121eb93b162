// Schedules without a scheduler: a job of each second, a worker that is away for a while, and a schedule that is made, run and
// ended at run time. Start it with: node --import jiti/register examples/schedules/main.ts

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { regrow } from 'regrow'
import { operate } from 'regrow/operate'
import { pglite } from 'regrow/pglite'
import { z } from 'zod'

const db = new PGlite()
const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`)
const second = (at: Date) => at.toISOString().slice(11, 19)

const app = regrow({ store: pglite(db) })
const read: number[] = []
const mailed: string[] = []

app.job('meters.read', {
  schedule: { every: '1s' }, // missed: 'once', overlap: 'skip'
  run(slot) {
    read.push(slot.at.getTime())
    say(`meters of ${second(slot.at)} are read`)
  },
})
app.job('report.nightly', { schedule: { cron: '0 3 * * *', tz: 'Europe/Berlin' }, run: () => {} })
const digest = app.job('digest.send', {
  input: z.object({ to: z.string() }),
  run({ to }) {
    mailed.push(to)
    say(`digest for ${to}`)
  },
})

/** Resolves when `holds` does. */
const until = async (holds: () => boolean) => {
  while (!holds()) await sleep(20)
}

const first = app.work()
await until(() => read.length === 2)
await first.stop()
say('nobody works for a while')
await sleep(2_500)

const before = read.length
const again = app.work()
await until(() => read.length === before + 2)

await operate(app).schedules.add('digest.ada', {
  job: digest,
  input: { to: 'ada' },
  cron: '0 8 * * MON',
  tz: 'Asia/Kolkata',
})
const [monday] = await operate(app).schedules.next('digest.ada', 1)
say(`ada gets a digest at ${monday?.toISOString()}, and one now`)
await operate(app).schedules.run('digest.ada')
await until(() => mailed.length === 1)
await operate(app).schedules.end('digest.ada')
await again.stop()

const [report] = (await operate(app).schedules.list({ job: 'report.nightly' })).schedules
const { slots = [] } = (await operate(app).schedules.show('meters.read', { slots: 1_000 })) ?? {}
const ended = await operate(app).schedules.show('digest.ada')
await app.close()
await db.close()

say(`the next report is due at ${report?.nextSlot?.toISOString()}`)
assert.ok(report?.nextSlot && report.nextSlot.getTime() > Date.now())
assert.equal(new Date(monday as Date).toISOString().slice(11, 16), '02:30', 'eight in Kolkata')
assert.deepEqual([ended?.ended?.why, ended?.slots[0]?.reason], ['person', 'ended'])

// Every second from the first to the last ran, or is recorded as skipped; none twice.
const over = slots.filter(({ state }) => state !== 'waiting')
const ran = over.filter(({ state }) => state === 'ran').map(({ at }) => at.getTime())
const skipped = over.flatMap(({ state, at, count }) =>
  state === 'skipped' ? Array.from({ length: count ?? 1 }, (_, i) => at.getTime() + i * 1_000) : [],
)
const all = [...ran, ...skipped].toSorted((a, b) => a - b)
assert.deepEqual(ran.toSorted(), read.toSorted(), 'what is recorded is what ran')
assert.deepEqual(
  all,
  all.map((_, i) => (all[0] as number) + i * 1_000),
)
assert.ok(skipped.length >= 1)
console.log(
  `${all.length} seconds: ${ran.length} ran, ${skipped.length} were skipped while nobody worked, none is missing`,
)
