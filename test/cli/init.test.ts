// `regrow init` writes a project that works as it stands, and overwrites nothing silently.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../src/operate/index.ts'
import { built, Project } from '../processes/cli.ts'
import { freshDatabase } from '../services/database.ts'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
let project: Project

beforeAll(async () => {
  await built()
  project = new Project()
}, 180_000)
afterAll(() => project?.remove())

const read = (path: string) => readFileSync(join(project.dir, path), 'utf8')
/** A project that init has written. */
const written = (folder: string, env?: Record<string, string>) => new Project(env, join(project.dir, folder))

test('in an empty folder, without a terminal: the worker runs its job, and the other commands find the app', async () => {
  const { code, stdout, stderr } = await project.run('init', '--dir', 'plain', '--language', 'js')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('Wrote regrow/app.mjs, regrow/worker.mjs, regrow/.gitignore, package.json')
  expect(stdout).toContain('node regrow/worker.mjs')
  const plain = written('plain')
  const worker = plain.node('regrow/worker.mjs')
  await worker.says('info  welcome {"job":"signup.welcome","key":"1"}')
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
  const { jobs } = await plain.json<Status>(['status'])
  expect(jobs).toMatchObject([{ job: 'signup.welcome', declared: true, quarantined: 0, retrying: 0, running: 0 }])
})

test('again it writes nothing; a file that was changed is kept, unless --force says otherwise', async () => {
  expect((await project.run('init', '--dir', 'plain', '--language', 'js')).stdout).toContain(
    'Everything is there already',
  )
  const app = read('plain/regrow/app.mjs')
  project.write('plain/regrow/app.mjs', '// mine\n')
  for (const flags of [[], ['--yes']])
    expect(await project.run('init', '--dir', 'plain', '--language', 'js', ...flags)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There already, and different: regrow\/app\.mjs\n.*--force overwrites/),
    })
  expect(read('plain/regrow/app.mjs')).toBe('// mine\n')
  expect(await project.json(['init', '--dir', 'plain', '--language', 'js', '--force'])).toMatchObject({
    written: ['regrow/app.mjs'],
    store: 'pglite',
  })
  expect(read('plain/regrow/app.mjs')).toBe(app)
})

test('an existing package.json keeps all it has; one that names another app is not changed silently', async () => {
  mkdirSync(join(project.dir, 'old'))
  project.write('old/package.json', '{\n\t"name": "shop",\n\t"scripts": { "x": "y" }\n}')
  await project.json(['init', '--dir', 'old', '--language', 'ts', '--store', 'postgres'])
  // Without "type": "module" a .ts file would be CommonJS.
  expect(existsSync(join(project.dir, 'old/regrow/app.mts'))).toBe(true)
  expect(existsSync(join(project.dir, 'old/regrow/.gitignore'))).toBe(false)
  expect(read('old/package.json')).toBe(
    '{\n\t"name": "shop",\n\t"scripts": {\n\t\t"x": "y"\n\t},\n\t"regrow": {\n\t\t"app": "./regrow/app.mts"\n\t}\n}',
  )
  project.write('old/package.json', '{ "regrow": { "app": "jobs.js" } }')
  expect(await project.run('init', '--dir', 'old', '--language', 'ts', '--store', 'postgres')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('package.json'),
  })
  expect(read('old/package.json')).toBe('{ "regrow": { "app": "jobs.js" } }')
  project.write('old/package.json', '{ oops')
  expect(await project.run('init', '--dir', 'old')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no JSON'),
  })
})

test('in TypeScript on Postgres it is free of type errors, and runs without a compiler', async () => {
  const database = await freshDatabase('init')
  onTestFinished(database.drop)
  await project.json(['init', '--dir', 'typed', '--language', 'ts', '--store', 'postgres'])
  const typed = written('typed', { DATABASE_URL: database.url })
  project.write(
    'typed/tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        target: 'es2023',
        module: 'nodenext',
        strict: true,
        skipLibCheck: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        types: ['node'],
      },
      include: ['regrow'],
    }),
  )
  await promisify(execFile)(process.execPath, [join(modules, 'typescript', 'bin', 'tsc')], { cwd: typed.dir })
  const example = typed.node(join(modules, 'jiti', 'lib', 'jiti-cli.mjs'), 'regrow/worker.ts')
  await example.says('info  welcome')
  example.child.kill('SIGTERM')
  expect((await example.ended).code).toBe(0)

  const worker = typed.start('work')
  await worker.says('working on signup.welcome')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(`insert into signups (email) values ('bob@example.org') returning id`)
  await client.end()
  expect(await typed.run('enqueue', 'signup.welcome', rows[0].id)).toMatchObject({ code: 0 })
  await worker.says(`"key":"${rows[0].id}"`)
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})
