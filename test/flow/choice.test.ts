// `work({ only, except })`: workers of one app that serve different jobs, in virtual time.

import { expect, test } from 'vitest'
import type { App, WorkOptions } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(`create table things (job text, id text, primary key (job, id))`)

const names = ['mail', 'report', 'sync'] as const
const declare = (app: App) =>
  names.map((name) =>
    app.job(name, {
      pending: { text: `select id from things where job = '${name}'`, values: [] },
      sweep: { every: '5s' },
      run: (id, ctx) =>
        ctx.tx((tx) => tx.query(`delete from things where job = $1 and id = $2`, [name, id])).then(() => {}),
    }),
  )

test.each<[what: string, choice: WorkOptions, served: string[]]>([
  ['only one, as text', { only: 'mail' }, ['mail']],
  ['only some', { only: ['mail', 'sync'] }, ['mail', 'sync']],
  ['all but one', { except: 'mail' }, ['report', 'sync']],
  ['some, less one of the others', { only: ['mail', 'sync'], except: ['report'] }, ['mail', 'sync']],
])('%s: only these are popped, swept and shown; the hints of the others wait', async (_, choice, served) => {
  const { app, queue, ear } = world.app()
  const jobs = declare(app)
  const worker = await world.work(app, choice)
  expect(worker.jobs).toEqual(served)
  await world.query(`insert into things select job, 'swept' from unnest(array['mail', 'report', 'sync']) job`)
  await world.pass(8_000)
  for (const job of jobs) await job.enqueue('hinted')
  await world.pass(3_000)
  const others = names.filter((name) => !served.includes(name))
  expect([...new Set(ear.of('job.settled').map(({ job }) => job))].sort()).toEqual(served)
  expect((await world.query<{ job: string }>(`select job from things order by job`)).map(({ job }) => job)).toEqual(
    others,
  )
  expect(
    (await world.query<{ job: string }>(`select job from regrow.sweeps order by job`)).map((row) => row.job),
  ).toEqual(served)
  expect((await operate(app).status()).workers.map(({ jobs: shown }) => shown)).toEqual([served])
  expect(await queue.count(others)).toEqual(new Map(others.map((job) => [job, { due: 1, delayed: 0 }])))
})

test('a worker for one job and a worker for the others do all the work between them', async () => {
  const queue = world.queue()
  const [one, two] = [world.app({}, queue), world.app({}, queue)]
  const jobs = declare(one.app)
  declare(two.app)
  await world.work(one.app, { only: ['report'] })
  await world.work(two.app, { except: ['report'] })
  await world.query(`insert into things select job, 'a' from unnest(array['mail', 'report', 'sync']) job`)
  for (const job of jobs) await job.enqueue('a')
  await world.until(async () => (await world.query(`select 1 from things`)).length === 0)
  expect(one.ear.of('job.started').map(({ job }) => job)).toEqual(['report'])
  expect(
    two.ear
      .of('job.started')
      .map(({ job }) => job)
      .sort(),
  ).toEqual(['mail', 'sync'])
})
