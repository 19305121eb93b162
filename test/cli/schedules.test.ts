// regrow schedules on a real Postgres: each command as a child process, beside a worker that has the jobs.
import { expect, test } from 'vitest'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const app = `
import { regrow } from 'regrow'
import { postgres } from 'regrow/postgres'
import { z } from 'zod'

export const app = regrow({ store: postgres(process.env.TEST_STORE) })
app.job('report.nightly', {
  schedule: { cron: process.env.REPORT_CRON ?? '0 3 * * *', tz: 'Europe/Berlin', jitter: '5m' },
  run: (slot) => console.log('reported ' + slot.at.toISOString()),
})
app.job('mail.send', { input: z.object({ to: z.string() }), run: ({ to }) => console.log('mailed ' + to) })
app.job('tidy', { schedule: { every: '2h', missed: { all: 3 } }, run: () => {} })
`

const on = cliOnPostgres({
  name: 'cli_schedules',
  tables: 'select 1',
  emptied: 'regrow.schedules, regrow.slots',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url, REGROW_AUTHOR: 'ann' }),
  files: { 'app.mjs': app, 'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }) },
})

const run = (...args: string[]) => on.project.run('schedules', ...args)
const lines = async (...args: string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await run(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trimEnd().split('\n')
}
const audit = async () =>
  (
    await on.client.query(
      `select author, action, detail::jsonb ->> 'schedule' as schedule from regrow.audit order by id`,
    )
  ).rows
const made = () => on.until(`select count(*) = 2 from regrow.slots where state = 'waiting'`)

test('list, show and next tell what recurs and when, from the store alone', async () => {
  expect(await lines('list')).toEqual([
    'No schedule yet: a worker that has a job with `schedule` makes it when it starts.',
  ])
  await on.started()
  await made()
  const [listed, limited, further, tidy, shown, next, { instants }] = await Promise.all([
    lines('list', '--store', on.url),
    lines('list', '--limit', '1'),
    lines('list', '--after', 'report.nightly'),
    on.project.json(['schedules', 'list', '--job', 'tidy']),
    lines('show', 'report.nightly'),
    lines('next', 'report.nightly', '--count', '366'),
    on.project.json<{ instants: { at: string; local: string }[] }>(['schedules', 'next', 'tidy']),
  ])
  expect(listed[0]).toMatch(/^schedule +recurs +state +next \(UTC\)$/)
  expect(listed[1]).toMatch(/^report\.nightly +0 3 \* \* \* in Europe\/Berlin +waiting +\d{4}-\d\d-\d\d 0[12]:00:00$/)
  expect(listed[2]).toMatch(/^tidy +every 2h +waiting +\d{4}-\d\d-\d\d \d[02468]:00:00$/)
  expect(limited).toContain('More: add --after report.nightly')
  expect(further[1]).toMatch(/^tidy /)
  expect(tidy).toMatchObject({
    schedules: [
      { name: 'tidy', everyMs: 7_200_000, tz: 'UTC', missed: { all: 3 }, live: true, paused: null, version: 1 },
    ],
    next: null,
  })
  for (const fact of [
    /^schedule {2}report\.nightly$/m,
    /^next {6}\w{3} \d{4}-\d\d-\d\d 03:00:00 \+0[12]:00 {2}\(\d{4}-\d\d-\d\d 0[12]:00:00 UTC\)$/m,
    /^missed {4}once$/m,
    /^jitter {4}5m$/m,
    /^version {3}1, declared in code$/m,
    /^slot \(Europe\/Berlin\) +state\n\w{3} .* 03:00:00 \+0[12]:00 +waiting$/m,
  ])
    expect(shown.join('\n')).toMatch(fact)
  expect(next[0]).toBe('report.nightly: 0 3 * * * in Europe/Berlin')
  expect(next.slice(2)).toHaveLength(366)
  for (const line of next.slice(2)) expect(line).toMatch(/^\w{3} (\S+) 03:00:00 \+0[12]:00 {2}\1 0[12]:00:00$/)
  expect(new Set(next.slice(2).map((line) => line.slice(24, 30)))).toEqual(new Set(['+01:00', '+02:00']))
  expect(instants).toHaveLength(10)
  expect(instants.map(({ at }) => Date.parse(at) % 7_200_000)).toEqual(instants.map(() => 0))
})

test('a schedule is run, paused, resumed and ended, and the audit has who did it', async () => {
  const worker = await on.started()
  await made()
  expect((await lines('run', 'report.nightly'))[0]).toMatch(
    /^report\.nightly: the slot report\.nightly@1@\S+Z is queued\.$/,
  )
  await worker.says('reported ')

  expect((await lines('pause', 'report.nightly', '--reason', 'the warehouse moves'))[0]).toBe(
    'report.nightly is paused: the warehouse moves',
  )
  expect((await lines('show', 'report.nightly')).join('\n')).toMatch(
    /^state {5}paused since .* UTC by ann: the warehouse moves$/m,
  )
  expect(await run('run', 'report.nightly')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/"report\.nightly" is paused\n {2}→ regrow schedules resume report\.nightly/),
  })
  expect((await lines('resume', 'report.nightly', '--author', 'bob'))[0]).toMatch(
    /^report\.nightly goes on\. Its next instant is \w{3} \d{4}-\d\d-\d\d 03:00:00 \+0[12]:00\.$/,
  )

  expect(await run('end', 'report.nightly')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --yes if that is meant'),
  })
  expect((await lines('end', 'report.nightly', '--yes'))[0]).toContain('report.nightly has ended.')
  expect((await lines('list'))[1]).toMatch(/^report\.nightly .* ended +–/)
  expect((await lines('show', 'report.nightly')).join('\n')).toMatch(/03:00:00 \+0[12]:00 +skipped: ended/)
  expect((await lines('resume', 'report.nightly'))[0]).toContain('report.nightly goes on.')
  expect(await audit()).toEqual(
    [
      ['ann', 'schedule.run'],
      ['ann', 'schedule.pause'],
      ['bob', 'schedule.resume'],
      ['ann', 'schedule.end'],
      ['ann', 'schedule.resume'],
    ].map(([author, action]) => ({ author, action, schedule: 'report.nightly' })),
  )
})

test('one that was made at run time tells what it hands over and whether that was done, and is removed with its history', async () => {
  const worker = await on.started()
  await made()
  await on.client.query(
    `insert into regrow.schedules (name, job, lane, cron, tz, missed, overlap, jitter_ms, input, declared, from_at, created_at, seen_at)
     values ('digest.ada', 'mail.send', 'regrow.slots', 'every 2 weeks from 2026-01-05T09:00:00', 'Europe/Berlin', 'once', 'skip', 0,
       '{"to": "ada"}', false, now(), now(), now())`,
  )
  await lines('run', 'digest.ada')
  await worker.says('mailed ada')
  await on.until(`select count(*) = 0 from regrow.intents`)
  // Written by hand, so that the next audit makes its first slot.
  await on.until(`select count(*) = 1 from regrow.slots where schedule = 'digest.ada' and state = 'waiting'`)
  expect((await lines('list'))[1]).toMatch(
    /^digest\.ada +every 2 weeks from 2026-01-05 09:00 in Europe\/Berlin +waiting .* done$/,
  )
  const shown = (await lines('show', 'digest.ada', '--store', on.url)).join('\n')
  expect(shown).toMatch(/^input {5}\{"to":"ada"\}$/m)
  expect(shown).toMatch(
    /^handed {4}mail\.send [0-9a-f-]{36}: done, by the slot of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m,
  )
  expect(await on.project.json(['schedules', 'show', 'digest.ada'])).toMatchObject({
    calendar: { every: { weeks: 2 }, anchor: '2026-01-05T09:00:00' },
    handed: { job: 'mail.send', state: 'done' },
  })
  expect(await run('remove', 'digest.ada')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --yes if that is meant'),
  })
  expect(await lines('remove', 'digest.ada', '--yes')).toEqual(['digest.ada is removed, with its history.'])
  expect((await lines('list')).join('\n')).not.toContain('digest.ada')
  expect(await run('remove', 'report.nightly', '--yes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('regrow schedules end report.nightly'),
  })
})

test('where no live worker has it, a run waits, and the lists say why', async () => {
  const worker = await on.started()
  await made()
  worker.child.kill('SIGTERM')
  await worker.ended
  expect((await lines('list'))[1]).toMatch(/^report\.nightly .* no worker /)
  expect((await lines('run', 'tidy'))[0]).toMatch(/waits\. No live worker has its job: it starts when one does\.$/)
})

test('status --check fails for a schedule that stands still, and not for one that is over', async () => {
  // A worker that beats and does nothing else.
  await on.client.query(
    `insert into regrow.workers (id, host, pid, jobs, started_at, beat_at)
     values ('w', 'host', 1, '{"report.nightly": "h", "tidy": "h"}', now(), now() + interval '1 minute')`,
  )
  await on.client.query(
    `insert into regrow.schedules (name, job, lane, cron, tz, missed, overlap, jitter_ms, declared, from_at, last_slot, end_at, created_at, seen_at)
     select name, name, name, cron, 'UTC', 'once', 'skip', 0, true, now() - interval '2 days', now() - interval '1 hour', end_at, now(), now()
     from (values ('report.nightly', '* * * * *', null), ('tidy', '0 0 1 1 *', now() + interval '1 minute')) as v(name, cron, end_at)`,
  )
  const { code, stdout } = await on.project.run('status', '--check')
  expect(code).toBe(1)
  expect(stdout).toContain('The schedule report.nightly stands still: no slot waits')
  expect(stdout).not.toContain('tidy stands still')
  await on.client.query(`delete from regrow.schedules where name = 'report.nightly'`)
  expect(await on.project.run('status', '--check')).toMatchObject({ code: 0 })
})

test('what is wrong is refused, with what to do', async () => {
  await on.client.query(
    `insert into regrow.schedules (name, job, lane, cron, tz, missed, overlap, jitter_ms, declared, from_at, created_at, seen_at)
     values ('report.nightly', 'report.nightly', 'report.nightly', '0 3 * * *', 'Europe/Berlin', 'once', 'skip', 0, true, now(), now(), now())`,
  )
  const refused: [string[], string][] = [
    [['show', 'report.nightli'], 'Did you mean "report.nightly"?'],
    [['next', 'report.nightli'], 'Did you mean "report.nightly"?'],
    [['pause', 'report.nightli', '--reason', 'x'], 'did you mean "report.nightly"?'],
    [['end', 'report.nightli', '--yes'], 'did you mean "report.nightly"?'],
    [['pause', 'report.nightly'], '--reason is missing'],
    [['next', 'report.nightly', '--count', '1001'], 'Give a whole number from 1 to 1000'],
    [['next', 'report.nightly', '--count', 'ten'], '--count is "ten"'],
  ]
  await Promise.all(
    refused.map(async ([args, said]) => {
      const ended = await run(...args)
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(ended.stderr).toContain(said)
    }),
  )
})

test('cron text that cannot be read stops the worker before anything is stored', async () => {
  const broken = await on.project.node(
    '-e',
    `process.env.REPORT_CRON = '61 3 * * *'; import('./app.mjs').then(({ app }) => app.work())`,
  ).ended
  expect(broken.code).not.toBe(0)
  expect(broken.stderr).toContain(
    'job "report.nightly": cron "61 3 * * *": the minute field says "61". Expected 0 to 59',
  )
  expect((await on.client.query('select name from regrow.schedules')).rows).toEqual([])
})
