// The command line on a real Postgres: each command as a child process, as a person or a deploy would call it.
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { QuarantinedKey, Status, SweepReport } from '../../src/operate/index.ts'
import { Project } from '../processes/cli.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'
import { freshDatabase } from '../services/database.ts'

const on = cliOnPostgres({
  name: 'cli',
  tables: cliTables,
  emptied: 'things, pairs, waits',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url, REGROW_AUTHOR: 'ann' }),
  files: { 'app.mjs': cliApp, 'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }) },
})

describe('migrate', () => {
  test('says what it did, and the second time that nothing was to do', async () => {
    const fresh = await freshDatabase('cli_migrate')
    onTestFinished(fresh.drop)
    const first = await on.project.run('migrate', '--store', fresh.url)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(/^postgres:\/\/\S+ \(--store\): migrated from version 0 to \d+\n$/)
    const second = await on.project.run('migrate', '--store', fresh.url)
    expect(second.stdout).toContain(': up to date, version')
  })

  test('--print gives SQL that makes a schema which the app accepts, and that may be applied again', async () => {
    const fresh = await freshDatabase('cli_print')
    const other = new Project({ REGROW_STORE: fresh.url, NODE_ENV: 'production' })
    onTestFinished(() => other.remove())
    onTestFinished(fresh.drop)
    const refused = await other.run('status')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('regrow migrate --store')
    const { stdout, code } = await other.run('migrate', '--print')
    expect(code).toBe(0)
    const session = new pg.Client({ connectionString: fresh.url })
    await session.connect()
    await session.query(stdout)
    await session.query(stdout)
    await session.end()
    expect(await other.run('status')).toMatchObject({ code: 0, stdout: expect.stringContaining('No job yet') })
    expect(await other.json(['migrate', '--print'])).toEqual({ sql: stdout.trimEnd().concat('\n') })
    const { from, to } = await other.json<{ from: number; to: number }>(['migrate'])
    expect(from).toBe(to)
  })

  test('--print leaves the transaction of the tool that applies it alone; --transaction has one of its own', async () => {
    const fresh = await freshDatabase('cli_print_tx')
    const other = new Project({ REGROW_STORE: fresh.url })
    onTestFinished(() => other.remove())
    onTestFinished(fresh.drop)
    const { stdout } = await other.run('migrate', '--print')
    const session = new pg.Client({ connectionString: fresh.url })
    await session.connect()
    onTestFinished(() => session.end())
    const tables = async () =>
      (
        await session.query(
          `select to_regclass('mine') is not null as mine, to_regclass('regrow.meta') is not null as regrow`,
        )
      ).rows[0]
    await session.query('begin; create table mine (id int)')
    await session.query(stdout)
    await session.query('rollback')
    expect(await tables()).toEqual({ mine: false, regrow: false })
    const whole = await other.run('migrate', '--print', '--transaction')
    expect(whole.stdout).toMatch(/^begin;\n[\s\S]*\ncommit;\n$/)
    await session.query(whole.stdout)
    expect(await tables()).toEqual({ mine: false, regrow: true })
    expect(await other.run('migrate', '--transaction')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--print'),
    })
  })
})

describe('work', () => {
  test('a database that does not exist ends it with the cause, in one message', async () => {
    const wrong = new Project({ TEST_STORE: `${on.project.env.TEST_STORE}_none` })
    onTestFinished(() => wrong.remove())
    wrong.write('app.mjs', cliApp)
    const { code, stdout, stderr } = await wrong.run('work', '--app', 'app.mjs')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^regrow: The store cannot be opened: database "\S+_none" does not exist\n {2}→ There is no/)
  })

  test('a script that does not look at `ready` ends with a line that says why', async () => {
    const wrong = new Project({ TEST_STORE: `${on.project.env.TEST_STORE}_none` })
    onTestFinished(() => wrong.remove())
    wrong.write('app.mjs', `${cliApp}\napp.work()\n`)
    const { code, stderr } = await wrong.node('app.mjs').ended
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^regrow: this worker cannot start: The store cannot be opened: database "\S+_none" does not exist. There is no database/,
    )
  })

  test('runs what is pending, and says so in one line', async () => {
    await on.client.query(`insert into things (id) values ('a'), ('b')`)
    const running = await on.started('--concurrency', '3')
    await on.until(`select count(*) = 2 from things where state = 'done'`)
    running.child.kill('SIGTERM')
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^working on thing\.make, mail\.send, pair\.join, wait\.long \(app\.mjs, queue postgres, 3 at a time, pid \d+\)\n/,
    )
  })

  test('the first signal lets a running handler end; nothing is left behind', async () => {
    await on.client.query(`insert into waits (id) values ('w')`)
    const running = await on.started()
    await running.says('waiting for w')
    running.child.kill('SIGTERM')
    await running.says('SIGTERM: stopping')
    await on.client.query(`update waits set go = true`)
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('stopped') })
    expect((await on.client.query('select state from waits')).rows).toEqual([{ state: 'done' }])
    expect((await on.client.query('select 1 from regrow.ledger union all select 1 from regrow.workers')).rows).toEqual(
      [],
    )
  })

  test('the second signal ends it at once; the key is given back uncounted, and runs elsewhere', async () => {
    await on.client.query(`insert into waits (id) values ('w')`)
    const running = await on.started()
    await running.says('waiting for w')
    running.child.kill('SIGINT')
    await running.says('SIGINT: stopping')
    running.child.kill('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('given back') })
    expect((await on.client.query('select 1 from regrow.ledger union all select 1 from regrow.workers')).rows).toEqual(
      [],
    )
    await on.client.query(`update waits set go = true`)
    const next = await on.started()
    await on.project.json(['sweep', 'wait.long'])
    await on.until(`select state = 'done' from waits`)
    next.child.kill('SIGTERM')
    expect((await next.ended).code).toBe(0)
  })

  test('a rejected promise that nobody waits for does not end it', async () => {
    on.project.write(
      'loose.mjs',
      `export { app } from './app.mjs'\nimport { mail } from './app.mjs'\nexport const handlers = []\nvoid mail\nsetTimeout(() => { void Promise.reject(new Error('loose end')) }, 100)`,
    )
    const running = await on.started('--app', 'loose.mjs')
    await running.says('loose end')
    await on.client.query(`insert into things (id) values ('a')`)
    await on.project.run('enqueue', 'thing.make', 'a')
    await on.until(`select state = 'done' from things`)
    running.child.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })

  test('a worker whose store is away says so and waits; a signal ends it', async () => {
    const away = new Project({ TEST_STORE: 'postgres://nobody:secret@127.0.0.1:1/none' })
    onTestFinished(() => away.remove())
    away.write('app.mjs', cliApp)
    const running = away.start('work', '--app', 'app.mjs')
    await running.says('ECONNREFUSED')
    running.child.kill('SIGTERM')
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).not.toContain('secret')
  })

  test('handlers may be in a module of their own; a module without any is refused', async () => {
    on.project.write(
      'apart.ts',
      `import { regrow } from 'regrow'\nimport { postgres } from 'regrow/postgres'\nimport { z } from 'zod'\n
       export const app = regrow({ store: postgres(process.env.TEST_STORE) })
       export const ping = app.job('ping', { input: z.object({ n: z.number() }) })`,
    )
    on.project.write(
      'apart-worker.ts',
      `import { app, ping } from './apart.ts'\nexport default { app, handlers: [ping.handle(({ n }) => console.log('pong ' + n))] }`,
    )
    expect(await on.project.run('work', '--app', 'apart.ts')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('apart.ts has no handlers'),
    })
    const running = await on.started('--app', 'apart-worker.ts')
    await on.project.json(['enqueue', 'ping', '{"n":7}', '--app', 'apart.ts'])
    await running.says('pong 7')
  })
})

describe('enqueue', () => {
  test('a key of each kind, and an input, reach a running worker', async () => {
    const running = await on.started()
    await on.client.query(`insert into things (id) values ('-1'); insert into pairs values (1, 'x y')`)
    expect(await on.project.run('enqueue', 'thing.make', '--', '-1')).toEqual({
      code: 0,
      stdout: 'thing.make -1: enqueued\n',
      stderr: '',
    })
    await on.project.json(['enqueue', 'pair.join', '{"a":1,"b":"x y"}'])
    expect(await on.project.json(['enqueue', 'mail.send', '{"to":"bob"}'])).toEqual({
      job: 'mail.send',
      key: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'added',
    })
    await running.says('mailed bob')
    await on.until(`select state = 'done' and not exists (select 1 from pairs) from things`)
  })

  test('--in, --at and --jitter are stored or drawn', async () => {
    await on.project.json(['enqueue', 'mail.send', '{"to":"a"}', '--in', '2h'])
    await on.project.json(['enqueue', 'mail.send', '{"to":"b"}', '--at', '2040-01-01T00:00:00+01:00'])
    await on.project.json(['enqueue', 'mail.send', '{"to":"c"}', '--jitter', '5m..30m'])
    const { rows } = await on.client.query(
      `select input ->> 'to' as to, round(extract(epoch from run_at - clock_timestamp()) / 3600)::int as hours,
       extract(epoch from run_at)::float8 as at from regrow.intents order by 1`,
    )
    expect(rows.map(({ hours }) => hours)).toEqual([2, expect.any(Number), null])
    expect(rows[1].at).toBe(Date.parse('2039-12-31T23:00:00Z') / 1000)
    const { jobs } = await on.project.json<Status>(['status'])
    expect(jobs.find(({ job }) => job === 'mail.send')).toMatchObject({ intents: 3 })
  })

  test.each([
    [['thing.mkae', 'a'], 'no job "thing.mkae"', 'Did you mean "thing.make"?'],
    [['mail.send', '{to}'], 'takes JSON', 'ann@example.org'],
    [['mail.send', '{"too":"a"}'], 'does not fit its schema', 'Nothing was stored'],
    [['pair.join', '{"a":"x","b":"y"}'], 'Expected a key of type int in "a"', 'key'],
    [['thing.make', 'a', '--in', '5m'], '`in` was given to "thing.make"', 'The row says when'],
    [['mail.send', '{"to":"a"}', '--at', '2040-01-01'], '--at is "2040-01-01"', 'date, time and zone'],
    [['mail.send', '{"to":"a"}', '--in', 'soon'], '`in` is "soon"', "'250ms'"],
    [['mail.send', '{"to":"a"}', '--jitter', '5m..1m'], '`jitter` ends', 'shorter one first'],
  ])('%j is refused, and nothing is stored', async (args, found, cure) => {
    const { code, stdout, stderr } = await on.project.run('enqueue', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(found)
    expect(stderr).toContain(cure)
    expect((await on.client.query('select 1 from regrow.intents')).rows).toEqual([])
  })
})

describe('status and sweep', () => {
  test('status shows what stands, people and machines alike, without the password', async () => {
    await on.client.query(`insert into things (id, broken) values ('a', true)`)
    await on.started()
    await on.until(`exists (select 1 from regrow.ledger where state = 'quarantined')`)
    await on.client.query(
      `insert into regrow.pauses values ('mail.send', 'provider is down', 'bob', now() - interval '2 hours')`,
    )
    const { code, stdout } = await on.project.run('status', '--store', on.url)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^store postgres:\/\/\S+ \(--store\), queue postgres\n/)
    expect(stdout).toMatch(/job .*running +retrying +quarantined +hints +workers\n(.*\n)*thing\.make .*0 +0 +1 +0 +1\n/)
    expect(stdout).toMatch(
      /! {2}mail\.send was paused 2h.* ago by bob: provider is down\n {3}→ regrow resume mail\.send/,
    )
    expect(stdout).toContain('!  thing.make: 1 in quarantine')
    const password = new URL(on.url).password
    if (password) expect(stdout).not.toContain(password)
    const document = await on.project.json<Status>(['status'])
    expect(document.jobs.map(({ job, quarantined }) => [job, quarantined])).toEqual([
      ['mail.send', 0],
      ['pair.join', 0],
      ['thing.make', 1],
      ['wait.long', 0],
    ])
    expect(document.workers).toMatchObject([
      { live: true, jobs: ['mail.send', 'pair.join', 'thing.make', 'wait.long'] },
    ])
  })

  test('sweep --dry-run only tells; sweep pushes; a worker that starts later runs what it pushed', async () => {
    await on.client.query(`insert into things (id) select 'k' || n from generate_series(1, 12) n`)
    const dry = await on.project.run('sweep', '--all', '--dry-run')
    expect(dry.code).toBe(0)
    expect(dry.stdout).toMatch(/thing\.make +12 +12 +0 +12 /)
    expect(dry.stdout).toContain('thing.make: k1, k10, k11, k12, k2')
    expect((await on.client.query('select 1 from regrow.sweeps')).rows).toEqual([])
    const { sweeps } = await on.project.json<{ sweeps: SweepReport[] }>(['sweep', 'thing.make'])
    expect(sweeps).toMatchObject([{ job: 'thing.make', seen: 12, pushed: 12, finished: true, error: null }])
    expect(await on.project.json(['sweep', 'thing.make', '--dry-run'])).toMatchObject({
      sweeps: [{ eligible: 12, pushed: 0 }],
    })
    await on.started()
    await on.until(`select count(*) = 12 from things where state = 'done'`)
  })

  test('a broken query is told, and the exit code is 1; an unknown job gets a guess', async () => {
    await on.client.query('alter table pairs rename to other')
    const { code, stdout } = await on.project.run('sweep', '--all')
    await on.client.query('alter table other rename to pairs')
    expect(code).toBe(1)
    expect(stdout).toContain('! pair.join: the pending query cannot be run: relation "pairs" does not exist')
    expect(await on.project.run('sweep', 'pair.jion')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "pair.join"?'),
    })
  })
})

describe('quarantine', () => {
  test('what failed is listed and shown without secrets; released, it runs again', async () => {
    await on.client.query(`insert into things (id, broken) values ('a', true)`)
    const running = await on.started()
    await running.says('thing.make a is in quarantine')
    const list = await on.project.run('quarantine', 'list')
    expect(list.stdout).toMatch(/thing\.make +a +1 +0 .*it is broken: password=\[redacted\]/)
    const shown = await on.project.run('quarantine', 'show', 'thing.make', 'a')
    expect(shown.stdout).toMatch(/failures +1\n/)
    expect(shown.stdout).toContain('Error: it is broken: password=[redacted]\n    at ')
    await on.client.query(`update things set broken = false`)
    expect(await on.project.run('quarantine', 'release', 'thing.make', 'a')).toEqual({
      code: 0,
      stdout: 'Released 1 key of thing.make.\n',
      stderr: '',
    })
    await on.until(`select state = 'done' from things`)
    expect(await on.project.json(['quarantine', 'list'])).toEqual({ keys: [], next: null })
    expect((await on.client.query('select author, action, job from regrow.audit')).rows).toEqual([
      { author: 'ann', action: 'quarantine.release', job: 'thing.make' },
    ])
  })

  test('an intent is dropped for good; a row of the user is not, and the message says what to do', async () => {
    await on.client.query(`insert into things (id, broken) values ('a', true)`)
    const running = await on.started()
    const { key } = await on.project.json<{ key: string }>(['enqueue', 'mail.send', '{"to":"bad one"}'])
    await running.says(`mail.send ${key} is in quarantine`)
    await running.says('thing.make a is in quarantine')
    expect(await on.project.json(['quarantine', 'show', 'mail.send', key])).toMatchObject({
      intent: { input: expect.stringContaining('bad one') },
    })
    expect(await on.project.run('quarantine', 'drop', 'thing.make', 'a')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Change the row so that the pending query no longer returns it'),
    })
    expect(await on.project.json(['quarantine', 'drop', 'mail.send', key])).toEqual({
      job: 'mail.send',
      count: 1,
      dropped: [key],
      missing: [],
    })
    expect((await on.client.query('select 1 from regrow.intents')).rows).toEqual([])
    expect(await on.project.run('quarantine', 'drop', 'mail.send', key)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Not in quarantine'),
    })
    expect(await on.project.run('quarantine', 'show', 'mail.send', key)).toMatchObject({ code: 1 })
  })

  test('pages are walked with --after; --all releases the rest; a misspelt job gets a guess', async () => {
    await on.client.query(
      `insert into regrow.ledger (job, key, state) select 'thing.make', 'k' || n, 'quarantined' from generate_series(1, 7) n`,
    )
    type Page = { keys: QuarantinedKey[]; next: string | null }
    const first = await on.project.json<Page>(['quarantine', 'list', '--job', 'thing.make', '--limit', '5'])
    const second = await on.project.json<Page>(['quarantine', 'list', '--after', first.next as string])
    expect([...first.keys, ...second.keys].map(({ key }) => key)).toEqual(['k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7'])
    expect(second.next).toBeNull()
    expect(await on.project.run('quarantine', 'list', '--job', 'thing.mkae')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "thing.make"?'),
    })
    const { released } = await on.project.json<{ released: string[] }>([
      'quarantine',
      'release',
      'thing.make',
      '--all',
      '--yes',
    ])
    expect(released).toHaveLength(7)
    expect((await on.client.query('select 1 from regrow.ledger')).rows).toEqual([])
  })
})
