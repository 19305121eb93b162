// What a process loads of the built package, by what it does: one that only enqueues has no code of workers, sweeps and operators.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './markdown.ts'

const run = promisify(execFile)
let folder: string

/** Written as JavaScript: it runs in Node's own thread for loaders. */
const hooks = `
import { appendFileSync } from 'node:fs'
let file
export const initialize = (data) => { file = data.file }
export async function load(url, context, next) {
  appendFileSync(file, url + '\\n')
  return next(url, context)
}`

const register = `
import { register } from 'node:module'
register('./hooks.mjs', import.meta.url, { data: { file: process.env.LOADED } })`

const declared = `
import { PGlite } from '@electric-sql/pglite'
import { regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'

const db = new PGlite()
await db.exec("create table things (id text primary key, state text not null default 'pending')")
const app = regrow({ store: pglite(db), log: false })
const done = new Promise((resolve) => app.on('job.settled', resolve))
const thing = app.job('thing.make', {
  pending: sql\`select id from things where state = 'pending'\`,
  run: (id, ctx) => ctx.tx((tx) => tx.query("update things set state = 'done' where id = $1", [id])),
})
app.job('report', { schedule: { cron: '0 3 * * *' }, run() {} })
await db.exec("insert into things values ('a')")
await thing.enqueue('a')
await app.transaction((tx) => thing.enqueue('a', { tx }))
`

beforeAll(async () => {
  await run(process.execPath, ['scripts/setup.mjs'], { cwd: root })
  // Inside the project: the package finds itself by its own name there.
  folder = await mkdtemp(join(root, '.tmp', 'loading-'))
  await writeFile(join(folder, 'hooks.mjs'), hooks)
  await writeFile(join(folder, 'register.mjs'), register)
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Folders of `dist` that a process of this code loads files of. */
async function foldersOf(code: string): Promise<string[]> {
  const main = join(folder, 'main.mjs')
  const loaded = join(tmpdir(), `regrow-loaded-${process.pid}`)
  await writeFile(main, `${declared}${code}\nawait app.close()\nawait db.close()`)
  await rm(loaded, { force: true })
  await run(process.execPath, ['--import', join(folder, 'register.mjs'), main], {
    env: { ...process.env, LOADED: loaded },
  })
  const urls = (await readFile(loaded, 'utf8')).split('\n').filter((url) => url.includes('/dist/'))
  await rm(loaded)
  expect(urls.length).toBeGreaterThan(50)
  return [...new Set(urls.map((url) => /\/dist\/([^/]+)\//.exec(url)?.[1] ?? 'index'))].sort()
}

const base = ['app', 'base', 'drivers', 'enqueue', 'index', 'job', 'queue', 'schedule', 'store']

test('a process that declares and enqueues loads no code of workers, sweeps and operators', async () => {
  expect(await foldersOf('')).toEqual(base)
})

test('a worker loads that of workers and sweeps', async () => {
  expect(await foldersOf('await app.work().ready; await done')).toEqual([...base, 'sweep', 'worker'].sort())
})

test('a process that asks loads that of operators', async () => {
  expect(await foldersOf(`const { operate } = await import('regrow/operate'); await operate(app).status()`)).toEqual(
    [...base, 'operate', 'sweep'].sort(),
  )
})
