// regrow pause and regrow resume on a real Postgres: each command as a child process, beside a worker that runs.
import { describe, expect, onTestFinished, test } from 'vitest'
import { Project } from '../processes/cli.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const on = cliOnPostgres({
  name: 'cli_pause',
  tables: cliTables,
  emptied: 'things, pairs, waits',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url, REGROW_AUTHOR: 'ann' }),
  files: { 'app.mjs': cliApp, 'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }) },
})

const audit = async () =>
  (
    await on.client.query(
      `select author, action, job, detail::jsonb ->> 'reason' as reason from regrow.audit order by id`,
    )
  ).rows

test('a paused job starts nothing and loses nothing; resumed, it runs what came meanwhile', async () => {
  const running = await on.started()
  const paused = await on.project.run('pause', 'mail.send', '--reason', 'the provider is down')
  expect(paused).toMatchObject({ code: 0, stderr: '' })
  expect(paused.stdout.split('\n')).toEqual([
    'mail.send is paused until it is resumed: the provider is down',
    'From now on no check starts a key of it: nothing new begins. Handlers that run go on to their end.',
    'Rows stay where they are, intents are stored and held.',
    'Everything comes back with: regrow resume mail.send',
    '',
  ])
  expect(await on.project.run('enqueue', 'mail.send', '{"to":"bob"}')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^mail\.send \S+: stored; the job is paused, it runs when it is resumed\n$/),
  })
  await on.client.query(`insert into things (id) values ('a')`)
  await on.project.json(['enqueue', 'thing.make', 'a'])
  await running.says('made a')
  expect((await on.client.query('select count(*)::int as stored from regrow.intents')).rows).toEqual([{ stored: 1 }])
  expect(await on.project.run('status')).toMatchObject({ stdout: expect.stringContaining('the provider is down') })
  expect(await on.project.run('resume', 'mail.send', '--author', 'bob')).toEqual({
    code: 0,
    stdout: 'mail.send is resumed. Its sweep begins anew and brings back all that waits, slowly at first.\n',
    stderr: '',
  })
  await running.says('mailed bob')
  expect(await on.project.run('resume', 'mail.send')).toEqual({
    code: 0,
    stdout: 'mail.send is not paused: there is nothing to do.\n',
    stderr: '',
  })
  expect(await audit()).toEqual([
    { author: 'ann', action: 'pause', job: 'mail.send', reason: 'the provider is down' },
    { author: 'bob', action: 'resume', job: 'mail.send', reason: 'the provider is down' },
  ])
})

test('--for is over by itself, and the worker brings back what waits', async () => {
  const running = await on.started()
  const { stdout } = await on.project.run(
    'pause',
    'mail.send',
    '--reason',
    'a moment',
    '--for',
    '3s',
    '--author',
    'eve',
  )
  expect(stdout).toMatch(/^mail\.send is paused for 3s, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: a moment\n/)
  expect(stdout).toContain('Everything comes back by itself then, or before with: regrow resume mail.send\n')
  await on.project.json(['enqueue', 'mail.send', '{"to":"cem"}'])
  await running.says('mailed cem')
  expect(await audit()).toEqual([
    { author: 'eve', action: 'pause', job: 'mail.send', reason: 'a moment' },
    { author: 'regrow', action: 'pause.over', job: 'mail.send', reason: 'a moment' },
  ])
})

describe('only a store is needed', () => {
  test('for a job that regrow’s tables know; machines get one document', async () => {
    await on.client.query(`insert into regrow.sweeps (job, next_at) values ('thing.make', now())`)
    const other = new Project({ REGROW_AUTHOR: 'ann' })
    onTestFinished(() => other.remove())
    const where = ['--store', on.url]
    const document = await other.json(['pause', 'thing.make', '--reason', 'a\u001b[31m disk', '--for', '2h', ...where])
    expect(document).toMatchObject({ job: 'thing.make', reason: 'a\u001b[31m disk', author: 'ann', backlog: null })
    expect(Date.parse(document.until as string) - Date.parse(document.since as string)).toBe(7_200_000)
    const again = await other.run('pause', 'thing.make', '--reason', 'a\u001b[31m disk', ...where)
    expect(again.stdout).toContain('thing.make is paused until it is resumed: a\\x1b[31m disk\n')
    expect(await other.json(['resume', 'thing.make', ...where])).toEqual({ job: 'thing.make', resumed: true })
    expect(await other.json(['resume', 'thing.make', ...where])).toEqual({ job: 'thing.make', resumed: false })
    const refused = await other.run('pause', 'thing.mkae', '--reason', 'x', ...where)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('There is no job "thing.mkae"')
    expect(refused.stderr).toContain('Did you mean "thing.make"?')
    expect(await other.run('resume', 'thing.mkae', ...where)).toMatchObject({ code: 2 })
  })

  test('and the app for one that no worker has had yet', async () => {
    const lost = await on.project.run('pause', 'thing.make', '--reason', 'not yet', '--store', on.url)
    expect(lost).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('known to the app that declares it (--app)'),
    })
    expect(await on.project.json(['pause', 'thing.make', '--reason', 'not yet', '--app', 'app.mjs'])).toMatchObject({
      job: 'thing.make',
    })
  })
})

test.each([
  [['--reason', ' '], '`reason` is " "', 'Say why'],
  [['--reason', 'x', '--for', 'soon'], '`for` is "soon"', "'250ms'"],
  [['--reason', 'x', '--for', '0s'], '`for` is "0s"', 'above zero'],
])('pause with %j is refused, and nothing is paused', async (args, found, cure) => {
  const { code, stdout, stderr } = await on.project.run('pause', 'thing.make', ...args, '--app', 'app.mjs')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(found)
  expect(stderr).toContain(cure)
  expect((await on.client.query('select 1 from regrow.pauses')).rows).toEqual([])
})
