// Timeouts and stops: ctx.signal aborts; what a handler that listens makes of it, and what one can still do that does not.
// Start it with: node --import jiti/register examples/timeouts/main.ts
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { RegrowError, regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'

const db = new PGlite()
await db.exec(`
  create table films (id text primary key, state text not null);
  create table converted (film text not null, attempt int not null);
  create table archived (film text not null, attempt int not null, call int not null);
  insert into films values ('listens', 'new'), ('late', 'new'), ('deaf', 'old')`)

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`)
const codeOf = (error: unknown) => (error instanceof RegrowError ? error.code : String(error))
const aborted: string[] = []
const tellAbort = (film: string, signal: AbortSignal) =>
  signal.addEventListener('abort', () => {
    aborted.push(`${film}: ${codeOf(signal.reason)}`)
    say(`${film}: ctx.signal aborts, ${codeOf(signal.reason)}`)
  })

const app = regrow({ store: pglite(db) })

app.job('film.convert', {
  pending: sql`select id from films where state = 'new'`,
  timeout: '500ms', // the default is 15m
  retry: { delay: '100ms' },
  async run(film, ctx) {
    tellAbort(film, ctx.signal)
    // Passes the signal on, so it ends when that aborts: a failure. Its second attempt is quick.
    if (film === 'listens') await sleep(ctx.attempt === 1 ? 60_000 : 1, undefined, { signal: ctx.signal })
    // Does not listen, but ends within 30 s of the abort: its success counts. After that its key is given up.
    else await sleep(2_500)
    await ctx.tx(async (tx) => {
      await tx.query(`insert into converted values ($1, $2)`, [film, ctx.attempt])
      await tx.query(`update films set state = 'done' where id = $1`, [film])
    })
  },
})

/** The first call of the other job does not listen, and goes on until this is called. */
let letGo = () => {}
const held = new Promise<void>((resolve) => {
  letGo = resolve
})
let calls = 0
const late: Promise<unknown>[] = []

app.job('film.archive', {
  pending: sql`select id from films where state = 'old'`,
  async run(film, ctx) {
    const call = ++calls
    tellAbort(film, ctx.signal)
    if (call === 1) await held
    const written = ctx.tx(async (tx) => {
      await tx.query(`insert into archived values ($1, $2, $3)`, [film, ctx.attempt, call])
      await tx.query(`update films set state = 'done' where id = $1`, [film])
    })
    if (call === 1) late.push(written.catch((error: unknown) => error))
    await written
  },
})

const settled: { key: string; state: string; error: string | null }[] = []
const done = async (film: string) => {
  while (!settled.some(({ key, state }) => key === film && state === 'done')) await sleep(20)
}
app.on('job.settled', ({ key, state, error }) => {
  settled.push({ key, state, error })
  say(`${key}: ${state}${error ? `: ${error.split('\n')[0]}` : ''}`)
})

const first = app.work()
await Promise.all([done('listens'), done('late')])

say('the first worker stops, and waits for 100 ms')
await first.stop({ grace: '100ms' }) // the default is 25s
say('it has stopped and has given back what still runs; the second one starts')
const second = app.work()
await done('deaf')

letGo() // and what did not listen wants to write, in a worker that is gone
await sleep(0)
const refused = codeOf(await late[0])
say(`the call that did not listen writes at last: ${refused}`)
await second.stop()
const converted = (await db.query(`select film, attempt from converted order by film`)).rows
const archived = (await db.query(`select film, attempt, call from archived`)).rows
await app.close()
await db.close()

assert.deepEqual(aborted.toSorted(), ['deaf: stopping', 'late: timeout', 'listens: timeout'])
assert.deepEqual(converted, [
  { film: 'late', attempt: 1 },
  { film: 'listens', attempt: 2 },
])
const failures = settled.filter(({ error }) => error !== null)
assert.deepEqual(
  failures.map(({ key, state }) => ({ key, state })),
  [{ key: 'listens', state: 'retrying' }],
  'only the timeout counts as a failure',
)
assert.equal(refused, 'lease_lost')
assert.deepEqual(archived, [{ film: 'deaf', attempt: 1, call: 2 }], 'written once, and the stop was not counted')
console.log('one failure for the timeout, none for the stop, and nothing is written twice')
