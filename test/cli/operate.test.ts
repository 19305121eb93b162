// What an operator types when something does not run: why, sweep --dry-run, quarantine by filter; as child processes on a real
// Postgres.
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ErrorGroup, SweepReport, Why } from '../../src/operate/index.ts'
import { Running } from '../processes/cli.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const on = cliOnPostgres({
  name: 'cli_operate',
  tables: cliTables,
  emptied: 'things, pairs, waits',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url, REGROW_AUTHOR: 'ann' }),
  files: { 'app.mjs': cliApp, 'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }) },
})

const main = join(import.meta.dirname, '../../dist/cli/main.js')

function terminal(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

const quarantined = (job: string, prefix: string, count: number, error: string) =>
  on.client.query(
    `insert into regrow.ledger (job, key, state, failures, error)
     select $1, $2 || n, 'quarantined', 20, replace($4, '#', n::text) from generate_series(1, $3::int) n`,
    [job, prefix, count, error],
  )
const left = async () => Number((await on.client.query('select count(*) as n from regrow.ledger')).rows[0].n)

describe('why', () => {
  test('a reason, what comes next, what to type, and the facts; for machines as one document', async () => {
    await on.client.query(`insert into things values ('a', 'done'), ('b', 'pending')`)
    const { code, stdout, stderr } = await on.project.run('why', 'thing.make', 'a')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('thing.make a: not_pending')
    expect(lines[1]).toBe(
      `Its row in things is there, but the pending query does not return it. What fails: state = 'pending' (state is 'done').`,
    )
    expect(lines[2]).toContain('Besides, no_worker: No live worker has the handler of thing.make')
    expect(lines[3]).toContain('Next: Nothing: a key that is not pending is not started')
    expect(stdout).toMatch(/pending {2}no\nledger {3}nothing remembered\nhint {5}none; 0 of the job are due\n/)
    const waits = await on.project.run('why', 'thing.make', 'b')
    expect(waits.stdout).toMatch(
      /^thing\.make b: no_worker\n[\s\S]*What to type:\n {2}regrow work --only thing\.make {2}/,
    )
    expect(await on.project.json<Why>(['why', 'pair.join', '["1","x y"]'])).toMatchObject({
      job: 'pair.join',
      key: '["1","x y"]',
      reason: 'no_row',
      facts: { kind: 'pending', item: '{"a":1,"b":"x y"}' },
    })
  })

  test('a misspelt job gets a guess; a key of another type and a command without a key are refused', async () => {
    for (const [args, found] of [
      [['thing.mkae', 'a'], 'Did you mean "thing.make"?'],
      [['mail.send', 'x'], 'Expected a key of type uuid'],
      [['thing.make'], '<key> is missing'],
    ] as const)
      expect(await on.project.run('why', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(found) })
  })
})

describe('sweep', () => {
  test('--dry-run says what is held and why, which hints are there, and what would be pushed', async () => {
    await on.client.query(`insert into things (id) select 'k' || n from generate_series(1, 5) n`)
    await on.project.json(['enqueue', 'thing.make', 'k1'])
    await quarantined('thing.make', 'k', 2, 'x')
    await on.client.query(
      `update regrow.ledger set state = 'retrying', retry_at = now() + interval '1 day' where key = 'k2'`,
    )
    const { stdout } = await on.project.run('sweep', 'thing.make', '--dry-run')
    expect(stdout).toMatch(/^job +seen +eligible +held +would push +hinted +took\nthing\.make +5 +3 +2 +3 +0 /)
    expect(stdout).toContain('  thing.make: held are 1 backed off, 1 quarantined\n')
    const { sweeps } = await on.project.json<{ sweeps: SweepReport[] }>(['sweep', 'thing.make', '--dry-run'])
    expect(sweeps).toMatchObject([
      { heldBy: { running: 0, backedOff: 1, quarantined: 1, later: 0 }, hinted: 0, pushed: 3 },
    ])
  })

  test('--dry-run says what is to be done about a query that is refused', async () => {
    await on.client.query(`alter table things rename to elsewhere`)
    const { stdout } = await on.project.run('sweep', 'thing.make', '--dry-run')
    await on.client.query(`alter table elsewhere rename to things`)
    expect(stdout).toMatch(
      /\n! thing\.make: the pending query cannot be run: relation "things" does not exist\n {2}→ Is the table migrated, in this database/,
    )
  })

  test('Ctrl-C ends it at the next page: what it has seen is told, and the exit code is 130', async () => {
    await on.client.query(`insert into things (id) select 'k' || n from generate_series(1, 12000) n`)
    // Its first statement waits for this lock, and the signal comes meanwhile.
    await on.client.query('begin; lock table things in access exclusive mode')
    const running = on.project.start('sweep', 'thing.make', '--dry-run')
    await on.until(`exists (select 1 from pg_locks where relation = 'things'::regclass and not granted)`)
    running.child.kill('SIGINT')
    await running.says('SIGINT: stopping at the next page. Once more: at once')
    await on.client.query('commit')
    const { code, stdout } = await running.ended
    expect(code).toBe(130)
    expect(stdout).toMatch(/thing\.make +0 +0 +0 /)
    expect(stdout).toContain('! thing.make: stopped before the end')
  })
})

describe('quarantine by filter', () => {
  test('errors are counted by what they have in common, and one of them is released, of all jobs', async () => {
    await quarantined('thing.make', 'k', 3, 'connect ECONNREFUSED 10.0.0.#:5432')
    await quarantined('pair.join', 'p', 2, 'connect ECONNREFUSED 10.0.1.#:5432')
    await quarantined('thing.make', 'other', 1, 'no such thing')
    const { errors } = await on.project.json<{ errors: ErrorGroup[] }>(['quarantine', 'errors'])
    expect(errors.map(({ job, count, error }) => [job, count, error])).toEqual([
      ['thing.make', 3, 'connect ECONNREFUSED <n>.<n>.<n>.<n>:<n>'],
      ['pair.join', 2, 'connect ECONNREFUSED <n>.<n>.<n>.<n>:<n>'],
      ['thing.make', 1, 'no such thing'],
    ])
    const table = await on.project.run('quarantine', 'errors', '--job', 'thing.make')
    expect(table.stdout).toMatch(
      /^keys +job +last \(UTC\) +one of them +error\n +3 +thing\.make .* k1 +connect ECONNREFUSED/,
    )
    const filter = ['--error', 'econnrefused', '--since', '1h']
    expect(await on.project.run('quarantine', 'release', ...filter)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Release 5 keys (pair.join 2, thing.make 3)? Nobody is here to be asked'),
    })
    expect(await left()).toBe(6)
    expect(await on.project.run('quarantine', 'release', ...filter, '--yes')).toEqual({
      code: 0,
      stdout: 'Released 2 keys of pair.join.\nReleased 3 keys of thing.make.\n',
      stderr: '',
    })
    expect(await on.project.json(['quarantine', 'list', '--all'])).toMatchObject({
      keys: [{ key: 'other1' }],
      next: null,
    })
    const audit = await on.client.query('select distinct author, action from regrow.audit')
    expect(audit.rows).toEqual([{ author: 'ann', action: 'quarantine.release' }])
    expect((await on.project.run('quarantine', 'release', ...filter, '--yes')).stdout).toBe(
      'Nothing that is in quarantine fits.\n',
    )
  })

  test('at a terminal it is asked, with the count; no is no, and yes is yes', async ({ skip }) => {
    if (!terminal()) skip('no `script` of util-linux here, which makes a terminal')
    await quarantined('thing.make', 'k', 3, 'broken #')
    const asked = async (answer: string) => {
      const line = `stty cols 100 rows 24; "${process.execPath}" "${main}" quarantine release thing.make --error broken`
      const env = { ...on.project.env, PATH: process.env.PATH as string, TERM: 'xterm' }
      const running = new Running(spawn('script', ['-qfec', line, '/dev/null'], { cwd: on.project.dir, env }))
      await running.says('Release 3 keys (thing.make 3)?')
      running.child.stdin?.write(answer)
      return running.ended
    }
    expect([(await asked('n\r')).code, await left()]).toEqual([1, 3])
    const { code, stdout } = await asked('y\r')
    expect([code, await left()]).toEqual([0, 0])
    expect(stdout).toContain('Released 3 keys of thing.make.')
  })

  test('the job may be a word or a flag; a filter and keys do not go together', async () => {
    await quarantined('thing.make', 'k', 4, 'version # is broken')
    await on.client.query(`update regrow.ledger set version = '7' where key = 'k2'`)
    const byVersion = ['quarantine', 'release', 'thing.make', '--version', '7', '--yes']
    expect(await on.project.json(byVersion)).toMatchObject({ job: 'thing.make', count: 1, released: ['k2'] })
    expect(await on.project.json(['quarantine', 'release', '--job', 'thing.make', 'k3'])).toMatchObject({
      released: ['k3'],
    })
    const before = ['quarantine', 'release', 'thing.make', '--before', '2020-01-01T00:00:00Z', '--yes']
    expect(await on.project.json(before)).toMatchObject({ count: 0 })
    for (const [args, found] of [
      [['thing.make', 'k1', '--error', 'x'], 'Both keys and a filter'],
      [['thing.make', '--since', 'monday'], '--since is "monday"'],
      [['--all'], 'Which job?'],
    ] as const)
      expect(await on.project.run('quarantine', 'release', ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(found),
      })
    expect(await left()).toBe(2)
  })
})
