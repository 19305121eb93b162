// npm run chaos -- hostile: a bad row, value, answer or event for each point where one of them might stop its neighbours, in as many jobs, beside
// 10,000 good rows; then it counts. `-- --rows 10000 --rest 60`

import { setTimeout as sleep } from 'node:timers/promises'
import { operate } from '../../../src/operate/index.ts'
import { readFlags } from '../flags.ts'
import { type HostileEvent, hostileEvents, unsaid } from './events.ts'
import { hostileJobs, insertBadRows, insertGoodRows } from './jobs.ts'
import { listen, openHostileWorld, Said } from './world.ts'

const flags = readFlags(process.argv.slice(2), {
  rows: 10_000,
  /** Seconds after the last event in which everything has to be done. */
  rest: 60,
  /** Milliseconds that a good row may wait while nothing happens to its job: a sweep of 5 s, and its run. */
  promised: 12_000,
  verbose: false,
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

const world = await openHostileWorld()
const { admin, apps, mail } = world
const query = (text: string) => admin.query(text)
const said = new Said()
const began = performance.now()
const tell = (line: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${line}`)
const wrong: string[] = []

const shares = hostileJobs.reduce((sum, { share = 1 }) => sum + share, 0)
const perJob = Math.ceil(flags.rows / shares)
let fed = 0
const feed = async (count: number) => {
  const next = Math.min(count, perJob - fed)
  if (next <= 0) return
  await insertGoodRows(query, fed, next)
  fed += next
}
const badKeys = await insertBadRows(query)
await feed(Math.ceil(perJob / 4))
tell(`${hostileJobs.length} jobs, ${perJob} good rows each, ${badKeys.length} bad rows`)

for (const app of Object.values(apps)) world.workers.push(app.work({ concurrency: 20 }))
await Promise.all(world.workers.map(({ ready }) => ready))
const over = new AbortController()
const listening = listen(world, said, async () => badKeys, over.signal)

// Two workers with different leases, and nothing else happens.
await sleep(20_000)
for (const event of ['worker.gone', 'worker.freed', 'loop.stalled'])
  if (said.count(`event ${event}`) > 0) wrong.push(`${event} while nothing happened`)
await heldNames()

// Rows come in all the time.
const feeding = new AbortController()
const chunks = (async () => {
  const each = Math.max(1, Math.ceil((perJob - fed) / 300))
  while (!feeding.signal.aborted && fed < perJob) {
    await feed(each)
    await sleep(400)
  }
})()
const spans: { event: HostileEvent; from: Date; until: Date }[] = []
const now = async () => (await query('select clock_timestamp() as at')).rows[0].at as Date
for (const event of hostileEvents) {
  tell(event.name)
  const from = await now()
  await event.strike(world)
  spans.push({ event, from, until: new Date((await now()).getTime() + event.restMs) })
  await sleep(Math.min(8_000, event.restMs))
}
feeding.abort()
await chunks
await feed(perJob)
tell('the events are over; the workers go on until nothing is left')
const left = () =>
  Promise.all(
    hostileJobs.map(async ({ name, table }) => {
      const { rows } = await query(
        `select count(*)::int as n from ${table} where state = 'pending' and id like 'g____%' and length(id) = 6`,
      )
      return [name, rows[0].n as number] as const
    }),
  )
const deadline = performance.now() + flags.rest * 1_000
let pending = await left()
while (pending.some(([, n]) => n > 0) && performance.now() < deadline) {
  await sleep(500)
  pending = await left()
}
tell(
  `good rows left: ${
    pending
      .filter(([, n]) => n > 0)
      .map(([name, n]) => `${name} ${n}`)
      .join(', ') || 'none'
  }`,
)
for (const [name, n] of pending) if (n > 0) wrong.push(`${n} good rows of ${name} were not done`)
// Long enough for health, doctor and why to be asked once more.
await sleep(6_000)
over.abort()
await listening
const stopping = performance.now()
await Promise.all(world.workers.map((worker) => worker.stop({ grace: '2s' })))
const stopMs = performance.now() - stopping
if (stopMs > 8_000) wrong.push(`stop({ grace: '2s' }) took ${Math.round(stopMs)} ms`)

await judge()
for (const line of flags.verbose ? said.all() : []) console.log(line)
await world.close()
console.log(
  wrong.length > 0
    ? `FAILED:\n  ${wrong.join('\n  ')}`
    : 'ok: every good row was done in time, once, and each bad one is named',
)
process.exitCode = wrong.length > 0 ? 1 : 0

/** Callers of inputs wait for nobody's transaction but that of their own name; users' names are apart from those of schedules. */
async function heldNames(): Promise<void> {
  await mail.enqueue({ to: 'held back for an hour' }, { unique: 'schedule nightly', in: '1h' })
  await operate(apps.bob).schedules.add('nightly', { job: mail, input: { to: 'nightly' }, every: '2s' } as never)
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const holder = apps.bob.transaction(async (tx) => {
    await mail.enqueue({ to: 'holder' }, { unique: 'held', tx } as never)
    await released
  })
  await sleep(300)
  const waiting = mail.enqueue({ to: 'waiting' }, { unique: 'held' })
  const from = performance.now()
  await Promise.all(Array.from({ length: 200 }, (_, n) => mail.enqueue({ to: `plain ${n}` })))
  const tookMs = performance.now() - from
  tell(`200 inputs beside a transaction that holds a name: ${Math.round(tookMs)} ms`)
  if (tookMs > 2_000) wrong.push(`inputs without a name waited ${Math.round(tookMs)} ms for somebody's transaction`)
  release()
  await holder
  await waiting
}

async function judge(): Promise<void> {
  console.log('\njob               good    done  longest wait, calm and in all')
  for (const { name, table } of hostileJobs) {
    const { rows } = await query(
      `select id, (extract(epoch from done_at - at) * 1000)::float8 as "waitMs", at from ${table} where length(id) = 6 and id like 'g%'`,
    )
    const done = rows.filter(({ waitMs }) => waitMs !== null)
    const calm = done.filter(({ at, waitMs }) => {
      const end = at.getTime() + waitMs
      return !spans.some(
        ({ event, from, until }) =>
          (event.jobs === null || event.jobs.includes(name)) && at <= until && end >= from.getTime(),
      )
    })
    const longest = (of: typeof rows) => Math.max(0, ...of.map(({ waitMs }) => waitMs as number))
    const [calmMs, allMs] = [longest(calm), longest(done)]
    console.log(
      `${name.padEnd(16)} ${String(rows.length).padStart(5)} ${String(done.length).padStart(7)}  ${(calmMs / 1_000).toFixed(1)} s of ${calm.length}, ${(allMs / 1_000).toFixed(1)} s`,
    )
    if (calmMs > flags.promised)
      wrong.push(`a good row of ${name} waited ${Math.round(calmMs)} ms though nothing happened to it`)
  }
  const doubled = await query(
    `select job, key, count(*)::int as n from effects where key <> 'nightly' group by 1, 2 having count(*) > 1`,
  )
  for (const { job, key, n } of doubled.rows) wrong.push(`${job} ${key} has ${n} effects`)
  const strange = await query(
    `select job, left(key, 20) as key, state, failures, left(error, 120) as error from regrow.ledger where state = 'quarantined'
     and (job, key) not in (('answer.odd', 'nan'), ('version.zone', 'bad'))`,
  )
  for (const each of strange.rows) wrong.push(`quarantined: ${JSON.stringify(each)}`)
  const tries = await query(`select job, failures from regrow.ledger where state = 'quarantined'`)
  for (const { job, failures } of tries.rows)
    if (failures !== 2) wrong.push(`${job}: quarantined after ${failures} failures, not 2`)
  const { rows } = await query(`select count(*)::int as n from effects where key = 'nightly'`)
  if (rows[0].n < 10) wrong.push(`the schedule of 2 s handed over ${rows[0].n} times`)
  const { rows: mails } = await query(
    `select count(*)::int as n from effects where job = 'mail.send' and key like 'plain%'`,
  )
  if (mails[0].n !== 200) wrong.push(`${mails[0].n} of 200 inputs were done`)
  for (const [job, key] of [
    ['answer.odd', 'nan'],
    ['version.zone', 'bad'],
  ])
    if (said.count(`started ${job} ${key}`) !== 2)
      wrong.push(`${job} ${key} may start twice and started ${said.count(`started ${job} ${key}`)} times`)
  // What was restored from before is declared again.
  const { rows: sweeps } = await query(`select count(*)::int as n from regrow.sweeps`)
  if (sweeps[0].n < hostileJobs.length) wrong.push(`${sweeps[0].n} sweeps are declared`)
  const { rows: ticks } = await query(
    `select name, extract(epoch from clock_timestamp() - interval '1 hour' - last_slot)::int as age from regrow.schedules`,
  )
  if (ticks.length < 2) wrong.push(`${ticks.length} of 2 schedules are left`)
  const { rows: pulses } = await query(`select count(*)::int as n from regrow.pulse`)
  if (pulses[0].n !== 1) wrong.push('the pulse was not made again')
  wrong.push(...unsaid(said))
  for (const [job, key] of badKeys) wrong.push(...unnamed(job, key))
}

/** Each bad row is named by health, doctor and why. */
function unnamed(job: string, key: string): string[] {
  const expected: Record<string, readonly string[]> = {
    'key.long': [
      `health key_unusable ${job}`,
      `doctor key_unusable ${job}`,
      `why key_unusable ${job} ${key.slice(0, 12)}`,
    ],
    'answer.odd nan': [`health quarantined ${job}`, `why quarantined ${job} nan`],
    'answer.odd far': [`why backed_off ${job} far`],
    'version.zone': [`health quarantined ${job}`, `why quarantined ${job} bad`],
    'run.edges': [`why run_at ${job} never`],
  }
  const lines = expected[job] ?? expected[`${job} ${key}`] ?? []
  return lines.filter((line) => said.count(line) === 0).map((line) => `never said: ${line}`)
}
