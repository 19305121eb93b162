// An app with two hundred jobs, as a program on Postgres and Redis: no warning of Node's, few lines for one mistake in all of them,
// and a program that ends by itself once its app is closed.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { built, Project } from '../processes/cli.ts'
import { type FreshDatabase, freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'

let database: FreshDatabase
beforeAll(async () => {
  await built()
  database = await freshDatabase('many_jobs')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create table things (id text primary key); insert into things values ('good'), ('bad')`)
  await client.end()
}, 120_000)
afterAll(() => database.drop())

const program = `
import { regrow } from 'regrow'
import { postgres } from 'regrow/postgres'
import { redis } from 'regrow/redis'

const { STORE, QUEUE, NAMESPACE } = process.env
const app = regrow({ store: postgres(STORE), queue: redis(QUEUE, { namespace: NAMESPACE }) })
const pending = { text: 'select id from things', values: [] }
const run = (id) => {
  if (id === 'bad') throw new Error('it is broken')
}
const jobs = Array.from({ length: 200 }, (_, n) => app.job('job.n' + n, { pending, run, retry: { attempts: 1 } }))
const settled = new Set()
const all = new Promise((resolve) => {
  app.on('job.settled', ({ job, key }) => settled.add(job + key).size === 400 && resolve())
})
const worker = app.work({ concurrency: 200 })
await worker.ready
await Promise.all(jobs.map((job) => job.enqueueMany(['good', 'bad'])))
await all
void worker.stop()
await app.close()
console.log('closed')
`

test('two hundred jobs make no warning of Node, a few lines of regrow, and a program that ends with its app', async () => {
  const { url, namespace } = freshRedis('many-jobs')
  const project = new Project({ STORE: database.url, QUEUE: url, NAMESPACE: namespace })
  project.write('program.mjs', program)
  const startedAt = performance.now()
  const { code, stdout, stderr } = await project.node('program.mjs').ended
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'closed\n' })
  expect(stderr).not.toMatch(/MaxListeners|Warning/)
  const failures = stderr.split('\n').filter((line) => line.includes('is in quarantine: Error: it is broken'))
  const more = failures.map((line) => Number(/\(and (\d+) more like it in the last \d+s\)$/.exec(line)?.[1] ?? 0))
  // Each is told or counted. In ten seconds eight are named, one stands for the others, and one says how many more there were.
  expect(more.reduce((sum, count) => sum + 1 + count, 0)).toBe(200)
  expect(failures.length).toBeLessThanOrEqual(10 * Math.ceil((performance.now() - startedAt) / 10_000))
  project.remove()
})
