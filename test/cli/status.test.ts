// regrow status as people and monitors call it, on a real Postgres: what is wrong, exit codes, and looking again and again.
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import type { Surroundings } from '../../src/cli/config.ts'
import { run } from '../../src/cli/run.ts'
import type { Health } from '../../src/operate/index.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'
import { freshDatabase } from '../services/database.ts'

const on = cliOnPostgres({
  name: 'cli_status',
  tables: cliTables,
  emptied: 'things, pairs, waits, regrow.heals',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url }),
  files: { 'app.mjs': cliApp, 'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }) },
})

/** A job that was swept just now, and that nobody works on. */
const abandoned = (job: string) =>
  on.client.query(
    `insert into regrow.sweeps (job, next_at, last_success_at, every_ms, pending, pending_at, seen)
     values ($1, now() + interval '30 s', now(), 60000, 12, now(), 12)`,
    [job],
  )

describe('--check', () => {
  test('a fleet that works is healthy; what is worth a look is printed, and the exit code is 0', async () => {
    await on.started()
    await on.until(`select count(*) = 4 from regrow.sweeps where last_success_at is not null`)
    await on.client.query(`delete from regrow.heals`)
    expect(await on.project.run('status', '--check')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^healthy: 4 jobs, 1 live worker, store app\.mjs\n$/),
      stderr: '',
    })
    await on.client.query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'k', 'quarantined')`)
    const warned = await on.project.run('status', '--check')
    expect(warned).toMatchObject({ code: 0, stdout: expect.stringMatching(/^healthy: /) })
    expect(warned.stdout).toContain('\n!  thing.make: 1 in quarantine\n   → regrow quarantine list --job thing.make')
  })

  test('without a worker it is not: the reasons are printed, and the exit code is 1', async () => {
    await abandoned('thing.make')
    const { code, stdout } = await on.project.run('status', '--check')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^unhealthy for 1 reason: 4 jobs, 0 live workers, .*\n!! No worker is alive: 1 job stands still \(thing\.make\); about 12 wait for one\n {3}→ Start a worker/,
    )
    const document = await on.project.json<Health & { store: string }>(['status', '--check'], 1)
    expect(document).toMatchObject({
      store: 'app.mjs',
      healthy: false,
      findings: [{ level: 'bad', code: 'no_worker', job: null }],
    })
    expect((await on.project.run('status')).code).toBe(0)
  })

  test('a store that does not answer is a failure, too', async () => {
    const { code, stderr } = await on.project.run(
      'status',
      '--check',
      '--store',
      'postgres://u:secret@127.0.0.1:1/none',
    )
    expect(code).toBe(1)
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr).not.toContain('secret')
  })
})

test('the tables fit into 100 columns, and show what the last sweep found and when the queue was lost', async () => {
  await abandoned('thing.make-with-a-long-name')
  await on.client.query(
    `update regrow.sweeps set pending = 5000000, pending_estimated = true, last_success_at = now(), oldest_at = now() - interval '20 minutes',
     dropped = 48000, pushed = 2000, held = 16, took_ms = 1234, no_progress = 3`,
  )
  await on.client.query(
    `insert into regrow.heals (queue, epoch, at, how, noticed_by, jobs_left, pushed, ended_at)
     values ('postgres', 2, now() - interval '1 hour', 'missing', 'worker-1:17', 0, 120, now() - interval '1 hour' + interval '1500 ms')`,
  )
  await on.client.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
     values ('w', 'worker-1', 17, '{"mail.send": "x", "pair.join": "x", "wait.long": "x", "and.another.one": "x"}', now(), now())`,
  )
  const { stdout } = await on.project.run('status')
  expect(stdout).toMatch(/thing\.make-with-a-long-name +~5000000 +20m +0 +0 +0 +0 +0\n/)
  expect(stdout).toMatch(/thing\.make-with-a-long-name +\S+ ago +1\.2s +12 +2000 +16 +48000 +1m +in \d+s\n/)
  expect(stdout).toMatch(
    /queue lost +mark +noticed by +hints back +healed\n1h( \d+s)? ago +missing +worker-1:17 +120 +after 1\.5s/,
  )
  const tables = stdout.split('\n').filter((line) => !/^(store|!|\s+→)/.test(line))
  expect(Math.max(...tables.map(({ length }) => length))).toBeLessThanOrEqual(100)
})

describe('--watch', () => {
  test('prints a block per look where there is no terminal, and ends well on Ctrl-C', async () => {
    await abandoned('thing.make')
    const running = on.project.start('status', '--watch', '--every', '200ms')
    await running.says('1 job stands still (thing.make)')
    await on.client.query(`insert into regrow.ledger (job, key, state) values ('thing.make', 'k', 'quarantined')`)
    await running.says('1 in quarantine')
    running.child.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('\u001b')
    const blocks = stdout.split(/^(?=\d{4}-\d\d-\d\dT[\d:.]+Z$)/m)
    expect(blocks.length).toBeGreaterThan(1)
    expect(blocks.every((block) => block.includes('thing.make'))).toBe(true)
  })

  test('--json is one line per look; with --check the exit code is that of the last one', async () => {
    await abandoned('thing.make')
    const running = on.project.start('status', '--watch', '--every', '200ms', '--json', '--check')
    await running.says('"healthy":false')
    await on.client.query('truncate regrow.sweeps')
    await running.says('"healthy":true')
    running.child.kill('SIGTERM')
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    const looks = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Health)
    expect(looks.length).toBeGreaterThan(1)
    expect(looks[0]?.healthy).toBe(false)
    expect(looks.at(-1)?.healthy).toBe(true)
  })

  test('draws over a terminal, as many lines as it has, and outlives a store that goes away', async () => {
    const fresh = await freshDatabase('cli_watch')
    const written: string[] = []
    let wake = () => {}
    let interrupt = () => {}
    let slept = () => {}
    const asleep = () => new Promise<void>((resolve) => (slept = resolve))
    const around: Surroundings = {
      cwd: on.project.dir,
      nodeVersion: '20.19.0',
      pid: 1,
      interactive: false,
      color: false,
      author: 'ann',
      store: undefined,
      screen: () => ({ columns: 80, rows: 10 }),
      errorScreen: () => undefined,
      now: () => 0,
      write: (text) => void written.push(text),
      complain: (text) => void written.push(text),
      sleep: () =>
        new Promise((resolve) => {
          wake = resolve
          slept()
        }),
      onSignal: (_, listener) => {
        interrupt = () => listener('SIGINT')
      },
      onRejection: () => {},
    }
    expect(await run(['migrate', '--store', fresh.url], { ...around, sleep: async () => {} })).toBe(0)
    written.length = 0
    let looked = asleep()
    const ended = run(['status', '--watch', '--store', fresh.url], around)
    await looked
    const end = '\u001b[K\n'
    expect(written[0]?.replace(/(?<=H)\d{4}.*Z/, 'time').replace(/store .*…/, 'store')).toBe(
      `\u001b[Htime${end}store${end}No job yet: none was declared, enqueued or worked on.${end}\u001b[J`,
    )
    const client = new pg.Client({ connectionString: fresh.url })
    await client.connect()
    await client.query(
      `insert into regrow.sweeps (job, next_at) select 'job.' || n, now() from generate_series(1, 20) n`,
    )
    await client.end()
    looked = asleep()
    wake()
    await looked
    expect(written[1]?.split('\n')).toHaveLength(10)
    expect(written[1]).toContain('…')
    await fresh.drop()
    looked = asleep()
    wake()
    await looked
    // Whether its connections are broken already, or the next one is refused.
    expect(written[2]).toMatch(/regrow: .*(connection to the store|does not exist)/)
    interrupt()
    wake()
    expect(await ended).toBe(1)
  })
})

test.each([
  [['--every', '5s'], '--every was given without --watch'],
  [['--watch', '--every', 'often'], '--every is "often"'],
  [['--watch', '--every', '1ms'], '--every is "1ms"'],
])('%j is refused', async (args, found) => {
  const { code, stderr } = await on.project.run('status', ...args)
  expect(code).toBe(2)
  expect(stderr).toContain(found)
})
