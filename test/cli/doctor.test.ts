// regrow doctor as people and CI call it, on a real Postgres: exit codes, --fix, --ignore, --strict, --json.
import { expect, test } from 'vitest'
import type { DoctorReport } from '../../src/operate/index.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'
import { cliOnPostgres } from '../processes/cli-postgres.ts'

const on = cliOnPostgres({
  name: 'cli_doctor',
  tables: cliTables,
  emptied: 'things, pairs, waits, regrow.heals',
  env: (url) => ({ DATABASE_URL: url, TEST_STORE: url }),
  files: {
    'app.mjs': cliApp,
    'bad.mjs': `${cliApp}\napp.job('bad.job', { pending: sql\`select id from things limit 1\`, run() {} })\n`,
    'package.json': JSON.stringify({ type: 'module', regrow: { app: './app.mjs' } }),
  },
})

test('an app that nothing is wrong with: exit code 0, and what its pending queries cost', async () => {
  const { code, stdout, stderr } = await on.project.run('doctor')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^healthy: nothing to tell \(app\.mjs, 3 pending queries explained\)\n\njob +page +read/)
  expect(stdout).toMatch(/\nthing\.make +0 +0 +/)
})

test('a query that is refused makes it 1, with the reason and the cure; a job that is named leaves it out', async () => {
  const call = (...args: string[]) => on.project.run('doctor', '--app', 'bad.mjs', ...args)
  const [{ code, stdout }, named, fixed] = await Promise.all([call(), call('--job', 'thing.make'), call('--fix')])
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /^unhealthy: 1 bad \(bad\.mjs, 3 pending queries explained\)\n\n!! bad\.job: the pending query has a LIMIT \(or OFFSET\) \[pending_refused\]\n {3}No worker runs this job: .*\n {3}→ .*Remove the LIMIT\.\n/,
  )
  expect([named.code, fixed.code]).toEqual([0, 1])
  expect(fixed.stdout).toBe(
    '-- Nothing that a statement would mend.\n-- 1 more finding has no statement: see regrow doctor.\n',
  )
})

test('--strict counts what is worth a change; --fix prints the statement, runs nothing, and what it prints mends it', async () => {
  await on.client.query(
    `insert into things (id, state) select n, case when n % 1000 = 0 then 'pending' else 'done' end from generate_series(1, 20000) n`,
  )
  await on.client.query('analyze things')
  const [found, strict, ignoring, { stdout }, document] = await Promise.all([
    on.project.run('doctor'),
    on.project.run('doctor', '--strict'),
    on.project.run('doctor', '--strict', '--ignore', 'index_missing,pooler'),
    on.project.run('doctor', '--fix'),
    on.project.json<DoctorReport & { statements: { sql: string }[] }>(['doctor']),
  ])
  expect([found.code, strict.code]).toEqual([0, 1])
  expect(found.stdout).toContain('!  thing.make: its page reads 20,000 rows of public.things to find 20 (')
  expect(ignoring).toMatchObject({ code: 0, stderr: '--ignore: nothing was found of pooler\n' })
  const lines = stdout.trimEnd().split('\n')
  expect(lines.slice(0, 3)).toEqual([
    '-- Printed by regrow doctor; nothing was run.',
    '-- What is made concurrently cannot be in a transaction: run these one by one, as psql does.',
    '',
  ])
  expect(lines[3]).toMatch(/^-- thing\.make: its page reads 20,000 rows/)
  expect(lines[4]).toBe(
    `create index concurrently things_id_where_state_pending on public.things (id) where state = 'pending';`,
  )
  const { jobs, findings, statements } = document
  expect(findings).toMatchObject([{ level: 'warn', code: 'index_missing', job: 'thing.make' }])
  expect(statements.map(({ sql }) => sql)).toEqual([lines[4]])
  expect(jobs.find(({ job }) => job === 'thing.make')).toMatchObject({ page: { rows: 20, rowsRead: 20_000 } })

  await on.client.query(stdout.replaceAll(/^--.*$/gm, ''))
  expect((await on.project.run('doctor', '--strict')).code).toBe(0)
})

test('a code that is none is refused', async () => {
  const { code, stderr } = await on.project.run('doctor', '--ignore', 'Index Missing')
  expect(code).toBe(2)
  expect(stderr).toContain('--ignore names "Index Missing"')
})
