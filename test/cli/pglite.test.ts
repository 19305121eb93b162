// The command line on a PGlite directory: one process at a time, and the truth stays between them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Status } from '../../src/operate/index.ts'
import { built, Project } from '../processes/cli.ts'
import { cliApp, cliTables } from '../processes/cli-app.ts'

let project: Project

beforeAll(async () => {
  await built()
  project = new Project({ TEST_STORE: 'data' })
  project.write('app.mjs', cliApp)
  project.write(
    'tables.mjs',
    `import { app } from './app.mjs'
     for (const statement of ${JSON.stringify(cliTables)}.split(';').filter((text) => text.trim()))
       await app.transaction((tx) => tx.query(statement))
     await app.transaction((tx) => tx.query("insert into things (id, broken) values ('a', true), ('b', false)"))
     await app.close()`,
  )
}, 180_000)
afterAll(() => project?.remove())

test('a directory is made by migrate only, and a second process is told who has it', async () => {
  expect(await project.run('status', '--store', 'data')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no PGlite in data'),
  })
  expect(existsSync(join(project.dir, 'data'))).toBe(false)
  expect(await project.run('migrate', '--store', 'data')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^data \(--store\): migrated from version 0 to \d+\n$/),
  })
  expect((await project.node('tables.mjs').ended).code).toBe(0)

  const worker = project.start('work', '--app', 'app.mjs')
  await worker.says('thing.make a is in quarantine')
  expect(await project.run('status', '--store', 'data')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `The PGlite directory ${join(project.dir, 'data')} is open in process ${worker.child.pid}`,
    ),
  })
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
  expect(existsSync(join(project.dir, 'data.lock'))).toBe(false)

  const { jobs, queue } = await project.json<Status>(['status', '--store', 'data'])
  expect(queue).toEqual({ name: 'memory', shared: false, down: false, unseen: [] })
  expect(jobs.find(({ job }) => job === 'thing.make')).toMatchObject({
    quarantined: 1,
    declared: false,
    sweep: { seen: 2 },
  })
})

test('a key that is released while nobody works runs when a worker starts, though its sweep was an hour away', async () => {
  project.env.MENDED = 'yes'
  expect(await project.run('quarantine', 'release', 'thing.make', 'a', '--store', 'data')).toMatchObject({ code: 0 })
  expect(await project.run('enqueue', 'mail.send', '{"to":"eve"}', '--app', 'app.mjs')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('at its next sweep'),
  })
  expect(await project.run('sweep', 'mail.send', '--app', 'app.mjs')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('due again for the next worker'),
  })
  const worker = project.start('work', '--app', 'app.mjs', '--json')
  await worker.says('mailed eve')
  await worker.says('made a')
  worker.child.kill('SIGTERM')
  const { code, stdout } = await worker.ended
  expect(code).toBe(0)
  expect(stdout).toContain('"working"')
})

test('drain runs what is due and ends; a second one finds nothing', async () => {
  expect(await project.run('enqueue', 'mail.send', '{"to":"ada"}', '--app', 'app.mjs')).toMatchObject({ code: 0 })
  expect(await project.run('drain', '--app', 'app.mjs', '--for', '30s')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/1 run in .*: 1 succeeded, 0 failed, 0 in quarantine; nothing is due any more/),
  })
  expect(await project.json(['drain', '--app', 'app.mjs'])).toMatchObject({
    drained: { runs: 0, ended: 'idle' },
    stopped: false,
  })
  expect(await project.run('drain', '--app', 'app.mjs', '--max', 'many')).toMatchObject({ code: 2 })
})
