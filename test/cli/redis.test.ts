// The command line with an app whose queue is in Redis: the project that `regrow init --queue redis` writes, as it stands.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../src/operate/index.ts'
import { redisCommand } from '../../tools/services/index.ts'
import { built, Project } from '../processes/cli.ts'
import { freshDatabase } from '../services/database.ts'
import { freshRedis } from '../services/redis.ts'

let outer: Project

beforeAll(async () => {
  await built()
  outer = new Project()
}, 180_000)
afterAll(() => outer?.remove())

test('init --queue redis writes an app in a namespace of its own; work, enqueue and status use it, and tell when it is away', async () => {
  const { url: redisUrl, namespace } = freshRedis('cli')
  const database = await freshDatabase('cli_redis')
  onTestFinished(database.drop)
  const flags = ['--store', 'postgres', '--queue', 'redis', '--language', 'js']
  const { next } = await outer.json<{ next: string[] }>(['init', '--dir', namespace, ...flags])
  expect(next).toEqual(
    expect.arrayContaining(['npm install regrow pg @redis/client', expect.stringContaining('REDIS_URL=')]),
  )
  const env = { DATABASE_URL: database.url, REDIS_URL: redisUrl }
  const project = new Project(env, `${outer.dir}/${namespace}`)
  const example = project.node('regrow/worker.mjs')
  await example.says('info  welcome {"job":"signup.welcome","key":"1"}')
  example.child.kill('SIGTERM')
  expect((await example.ended).code).toBe(0)
  expect(await redisCommand(redisUrl, 'EXISTS', `{${namespace}}:owner`)).toBe(1)

  const app = ['--app', 'regrow/app.mjs']
  const hints = async () => {
    const { queue, jobs } = await project.json<Status>(['status', ...app])
    expect(queue).toMatchObject({ name: `redis:${namespace}`, shared: true, down: false })
    expect(jobs).toMatchObject([{ job: 'signup.welcome' }])
    return (jobs[0]?.hints?.due ?? 0) + (jobs[0]?.hints?.delayed ?? 0)
  }
  // A second hint of the row may wait behind its run: the sweep of the first start finds it, too.
  const before = await hints()
  const enqueued = await project.run('enqueue', 'signup.welcome', '7')
  expect(enqueued).toMatchObject({ code: 0, stdout: expect.stringContaining('enqueued') })
  expect(await hints()).toBe(before + 1)

  const away = { ...project.env, REDIS_URL: 'redis://ann:hunter2@127.0.0.1:1' }
  Object.assign(project.env, away)
  const status = await project.run('status', ...app)
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('redis') })
  const refused = await project.run('enqueue', 'signup.welcome', '8')
  expect(refused.code).toBe(1)
  expect(JSON.stringify([status, refused])).not.toContain('hunter2')

  Object.assign(project.env, { REDIS_URL: '' })
  const none = await project.run('status', ...app)
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('Set REDIS_URL') })
}, 60_000)

test('status looks with the app that package.json names, and says so where it cannot see the queue of the workers', async () => {
  const { url: redisUrl, namespace } = freshRedis('clicheck')
  const database = await freshDatabase('cli_redis_check')
  onTestFinished(database.drop)
  const flags = ['--store', 'postgres', '--queue', 'redis', '--language', 'js']
  await outer.json(['init', '--dir', namespace, ...flags])
  const env = { DATABASE_URL: database.url, REDIS_URL: redisUrl }
  const project = new Project(env, `${outer.dir}/${namespace}`)
  const worker = project.node('regrow/worker.mjs')
  await worker.says('info  welcome {"job":"signup.welcome","key":"1"}')
  const check = (...args: string[]) => project.run('status', '--check', ...args)
  expect(await check()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^healthy: .*, store regrow\/app\.mjs\n/),
  })

  // Alone, a store knows the name of the queue, and not whether it is alive.
  const alone = await check('--store', database.url)
  expect(alone).toMatchObject({ code: 1, stdout: expect.stringContaining('unhealthy for 1 reason') })
  expect(alone.stdout).toContain(`!! Workers use the queue redis:${namespace}, which is not the queue of this app`)
  const status = await project.json<Status>(['status', '--store', database.url])
  expect(status).toMatchObject({
    queue: { name: `redis:${namespace}`, down: false, unseen: [`redis:${namespace}`] },
    jobs: [{ job: 'signup.welcome', hints: null }],
  })
  expect((await project.run('status', '--store', database.url)).stdout).toContain(
    `queue redis:${namespace}, which cannot be seen from here`,
  )

  Object.assign(project.env, { REDIS_URL: 'redis://127.0.0.1:1' })
  const dead = await check()
  expect(dead).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`!! The queue (redis:${namespace}) does not answer`),
  })
  worker.child.kill('SIGTERM')
  await worker.ended
}, 60_000)
