// How `regrow work` ends, as real processes on a real Postgres: signals, handlers that ignore them, and a worker that asks
// to be started anew.
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Status } from '../../src/operate/index.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const inside = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../dist/${path}`, import.meta.url)))

/** Its time passes twenty times as fast, so that a handler is stuck soon. The store's clock is as it is. */
const fastApp = `
import { systemClock } from 'regrow/driver'
import { postgres } from 'regrow/postgres'
import { compose } from ${inside('app/regrow.js')}
import { systemRandom as random } from ${inside('base/random.js')}

const pace = 20
const clock = {
  ...systemClock,
  now: () => systemClock.now() * pace,
  sleep: (ms, signal) => systemClock.sleep(ms / pace, signal),
}
export const app = compose({ store: postgres(process.env.DATABASE_URL) }, { clock, random })
const pending = (name) => ({ text: "select id from things where job = '" + name + "' and state = 'pending'", values: [] })
const done = (ctx, id) => ctx.tx((tx) => tx.query("update things set state = 'done' where id = $1", [id]))

app.job('hang', {
  pending: pending('hang'),
  timeout: '1s',
  retry: { delay: '1h' },
  async run(id) {
    console.log('hanging on ' + id)
    await new Promise(() => {})
  },
})
app.job('wait', {
  pending: pending('wait'),
  async run(id, ctx) {
    console.log('waiting for ' + id)
    let go = false
    while (!go)
      await ctx.tx(async (tx) => {
        go = (await tx.query('select pg_sleep(0.02)::text, go from things where id = $1', [id])).rows[0]?.go === true
      }, { settle: false })
    await done(ctx, id)
  },
})
`

const plainApp = `
import { regrow } from 'regrow'
import { postgres } from 'regrow/postgres'

export const app = regrow({ store: postgres(process.env.DATABASE_URL) })
const pending = (name) => ({ text: "select id from things where job = '" + name + "' and state = 'pending'", values: [] })

/** Ignores its signal, and holds a connection of the pool for ever. */
app.job('deaf', {
  pending: pending('deaf'),
  run: (id, ctx) => ctx.tx(async (tx) => {
    await tx.query("update things set state = 'never' where id = $1", [id])
    console.log('deaf to all for ' + id)
    await new Promise(() => {})
  }),
})
app.job('quick', {
  pending: pending('quick'),
  run: (id, ctx) => ctx.tx((tx) => tx.query("update things set state = 'done' where id = $1", [id])),
})
`

const on = cliOnPostgres({
  name: 'cli_stop',
  tables: `create table things (id text primary key, job text, state text not null default 'pending', go boolean not null default false)`,
  emptied: 'things',
  env: (url) => ({ DATABASE_URL: url }),
  files: {
    'fast.mjs': fastApp,
    'plain.mjs': plainApp,
    'package.json': JSON.stringify({ type: 'module', regrow: { app: './plain.mjs' } }),
  },
})

const add = (job: string, ...ids: string[]) =>
  on.client.query(`insert into things (id, job) select unnest($1::text[]), $2`, [ids, job])
const rows = async (text: string) => (await on.client.query(text)).rows

describe('a handler that ignores its signal and holds its transaction', () => {
  test('the second signal ends the worker at once: given back, nothing counted, exit code 1; a third changes nothing', async () => {
    await add('deaf', 'a')
    const running = await on.started('--grace', '10m')
    await running.says('deaf to all for a')
    running.child.kill('SIGTERM')
    await running.says('SIGTERM: stopping; what runs may take 10m to end')
    const at = performance.now()
    running.child.kill('SIGTERM')
    running.child.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect(performance.now() - at).toBeLessThan(4_000)
    expect(code).toBe(1)
    expect(stderr).toContain('stopped at once; what still ran was given back')
    expect(await rows('select 1 from regrow.ledger union all select 1 from regrow.workers')).toEqual([])
    expect(await rows('select job, key, fresh from regrow.hints')).toEqual([{ job: 'deaf', key: 'a', fresh: true }])
    expect(await rows('select state from things')).toEqual([{ state: 'pending' }])
  })

  test('the end of the grace ends it too: given back, nothing counted, exit code 0', async () => {
    await add('deaf', 'a')
    const running = await on.started('--grace', '200ms')
    await running.says('deaf to all for a')
    const at = performance.now()
    running.child.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
    expect(performance.now() - at).toBeLessThan(5_000)
    expect(await rows('select 1 from regrow.ledger union all select 1 from regrow.workers')).toEqual([])
    expect(await rows('select job, key, fresh from regrow.hints')).toEqual([{ job: 'deaf', key: 'a', fresh: true }])
  })
})

describe('half of the slots are stuck', () => {
  test('the worker says why and stops by itself: what runs may end, exit code 3', async () => {
    await add('hang', 'stuck')
    await add('wait', 'w')
    const running = await on.started('--app', 'fast.mjs', '--concurrency', '2', '--grace', '20m')
    await running.says('hanging on stuck')
    await running.says('waiting for w')
    await running.says('1 of 2 slots are stuck')
    await on.client.query('update things set go = true')
    const { code, stderr } = await running.ended
    expect(code).toBe(3)
    expect(stderr).toContain('hang stuck did not end after its timeout; its slot is stuck')
    expect(stderr).toContain('Stopping, to be restarted')
    expect(await rows(`select id, state from things order by id`)).toEqual([
      { id: 'stuck', state: 'pending' },
      { id: 'w', state: 'done' },
    ])
    expect(await rows('select key, holder, failures, crashes from regrow.ledger')).toEqual([
      { key: 'stuck', holder: null, failures: 1, crashes: 0 },
    ])
    expect(await rows('select 1 from regrow.workers')).toEqual([])
  })

  test('a signal while it stops for that makes it an ordinary stop', async () => {
    await add('hang', 'stuck')
    await add('wait', 'w')
    const running = await on.started('--app', 'fast.mjs', '--concurrency', '2', '--grace', '20m')
    await running.says('waiting for w')
    await running.says('1 of 2 slots are stuck')
    running.child.kill('SIGTERM')
    await running.says('SIGTERM: stopping')
    await on.client.query('update things set go = true')
    expect((await running.ended).code).toBe(0)
    expect(await rows(`select state from things where id = 'w'`)).toEqual([{ state: 'done' }])
  })

  test('fewer are shown by `regrow status`, and the worker goes on', async () => {
    await add('hang', 'stuck')
    const running = await on.started('--app', 'fast.mjs', '--concurrency', '3')
    await running.says('its slot is stuck')
    await on.until('select stuck = 1 from regrow.workers')
    const status = await on.project.run('status')
    expect(status.stdout).toMatch(/worker +pid +running +stuck +started/)
    expect(status.stdout).toMatch(new RegExp(` ${running.child.pid} +0 +1 `))
    expect(status.stdout).toContain(`pid ${running.child.pid}: 1 slot is stuck in handlers that did not end`)
    expect((await on.project.json<Status>(['status'])).workers).toMatchObject([{ stuck: 1 }])
    running.child.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })
})

describe('--only and --except', () => {
  test('a worker serves the jobs that were named', async () => {
    await add('deaf', 'a')
    await add('quick', 'b')
    const running = await on.started('--except', 'deaf')
    await on.until(`select state = 'done' from things where id = 'b'`)
    expect(await rows('select job from regrow.sweeps')).toEqual([{ job: 'quick' }])
    expect(await rows(`select jsonb_object_keys(jobs) as job from regrow.workers`)).toEqual([{ job: 'quick' }])
    running.child.kill('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('working on quick (') })
  })

  test('a drain refuses them as a worker does', async () => {
    const { code, stdout, stderr } = await on.project.run('drain', '--only', 'quik')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--only names "quik", and plain.mjs declares no such job\n  → Did you mean "quick"?')
  })

  test.each([
    [['--only', 'quik,deaf'], '--only names "quik", and plain.mjs declares no such job\n  → Did you mean "quick"?'],
    [['--except', 'nothing like it'], 'declares no such job\n  → It declares: '],
    [['--only', 'quick, deaf', '--except', 'deaf'], 'both `only` and `except` name "deaf"'],
    [['--except', 'quick,deaf'], '`except` leaves no job'],
    [['--only', ','], '`only` leaves no job'],
  ])('%j is refused with exit code 2', async (args, sentence) => {
    const { code, stdout, stderr } = await on.project.run('work', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(sentence)
  })
})
