// Suspects run alone: the worker empties itself for them, is fair to the others after that, and one process per job does it.
import { expect, test } from 'vitest'
import { sql } from '../../src/index.ts'
import { openWorld } from './world.ts'

const world = openWorld(
  `create table things (id text primary key, state text not null default 'pending', ms int not null)`,
)

/** A worker whose handler takes as long as its row says; what ran when, and beside how many. */
function worker(queue = world.queue()) {
  const { app, ear } = world.app({}, queue)
  const runs: { id: string; from: number; to: number; beside: number }[] = []
  const running = new Set<string>()
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    sweep: { every: '1h' },
    async run(id, ctx) {
      const [row] = await world.query<{ ms: number }>(`select ms from things where id = $1`, [id])
      const from = world.clock.now()
      let beside = running.size
      running.add(id)
      const end = from + (row?.ms ?? 0)
      while (world.clock.now() < end && !ctx.signal.aborted) {
        await world.clock.sleep(50)
        beside = Math.max(beside, running.size - 1)
      }
      running.delete(id)
      runs.push({ id, from, to: world.clock.now(), beside })
      if (!ctx.signal.aborted) await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
    },
  })
  return { app, ear, job, runs }
}

const add = (ms: number, ...ids: string[]) =>
  world.query(`insert into things (id, ms) select jsonb_array_elements_text($1), $2`, [JSON.stringify(ids), ms])
const suspect = (...ids: string[]) =>
  world.query(
    `insert into regrow.ledger (job, key, state, crashes) select 'thing.make', jsonb_array_elements_text($1), 'retrying', 2`,
    [JSON.stringify(ids)],
  )
const left = async () =>
  (await world.query<{ n: number }>(`select count(*)::int as n from things where state = 'pending'`))[0]?.n
const run = (runs: readonly { id: string; from: number; to: number; beside: number }[], id: string) =>
  runs.find((each) => each.id === id) ?? expect.fail(`${id} did not run`)

test('a suspect waits until nothing runs, has the process to itself, and then the others have as long', async () => {
  const { app, job, runs } = worker()
  await world.work(app, { concurrency: 3 })
  await add(3_000, 'before')
  await job.enqueue('before')
  await world.pass(500)
  await add(2_000, 's1', 's2')
  await suspect('s1', 's2')
  await job.enqueueMany(['s1', 's2'])
  await world.pass(200)
  await add(1_000, 'n1', 'n2', 'n3', 'n4')
  await job.enqueueMany(['n1', 'n2', 'n3', 'n4'])
  await world.until(async () => (await left()) === 0)
  const [first, second] = runs.filter(({ id }) => id.startsWith('s'))
  if (!first || !second) expect.fail('both suspects run')
  expect(first.from).toBeGreaterThanOrEqual(run(runs, 'before').to)
  expect([first.beside, second.beside]).toEqual([0, 0])
  // 3 s until it was empty and 2 s alone: normal work has had at least as long before the next one begins.
  expect(second.from - first.to).toBeGreaterThanOrEqual(4_000)
  for (const id of ['n1', 'n2', 'n3', 'n4']) {
    expect(run(runs, id).from).toBeGreaterThanOrEqual(first.to)
    expect(run(runs, id).to).toBeLessThanOrEqual(second.from)
  }
  expect(await world.query(`select * from regrow.ledger`)).toEqual([])
})

test('short suspects run one after the other while the process is empty, none beside another', async () => {
  const { app, job, runs } = worker()
  await world.work(app, { concurrency: 10 })
  const ids = Array.from({ length: 40 }, (_, i) => `s${i}`)
  await add(50, ...ids)
  await suspect(...ids)
  await job.enqueueMany(ids)
  const from = world.clock.now()
  await world.until(async () => (await left()) === 0)
  expect(runs.map(({ beside }) => beside)).toEqual(ids.map(() => 0))
  // Forty times 50 ms, and as long for others in between; a wait for each would take forty.
  expect(world.clock.now() - from).toBeLessThan(8_000)
})

test('one process per job runs a suspect at a time; the other serves normal work meanwhile', async () => {
  const queue = world.queue()
  const [one, two] = [worker(queue), worker(queue)]
  await world.work(one.app, { concurrency: 2 })
  await world.work(two.app, { concurrency: 2 })
  await add(5_000, 's1', 's2', 's3', 's4')
  await suspect('s1', 's2', 's3', 's4')
  const normal = Array.from({ length: 20 }, (_, i) => `n${i}`)
  await add(1_000, ...normal)
  await one.job.enqueueMany(['s1', 's2', 's3', 's4', ...normal])
  await world.until(async () => (await left()) === 0, 600_000)
  const runs = [...one.runs, ...two.runs]
  const alone = runs.filter(({ id }) => id.startsWith('s')).sort((a, b) => a.from - b.from)
  expect(alone.map(({ beside }) => beside)).toEqual([0, 0, 0, 0])
  for (let i = 1; i < alone.length; i++) expect(alone[i]?.from).toBeGreaterThanOrEqual(alone[i - 1]?.to as number)
  const [first] = alone
  const meanwhile = runs.filter(
    ({ id, from }) => id.startsWith('n') && from > (first?.from ?? 0) && from < (first?.to ?? 0),
  )
  expect(meanwhile.length).toBeGreaterThan(0)
})

test('a worker that stops while a suspect waits gives it back: nothing counted, and another worker runs it', async () => {
  const queue = world.queue()
  const { app, ear, job, runs } = worker(queue)
  const handle = await world.work(app)
  await add(10_000, 'long')
  await job.enqueue('long')
  await world.until(() => ear.of('job.started').length === 1)
  await add(100, 's1')
  await suspect('s1')
  await job.enqueue('s1')
  await world.pass(1_000)
  expect(await world.query(`select holder is not null as held, solo from regrow.ledger where key = 's1'`)).toEqual([
    { held: true, solo: false },
  ])
  await world.over(handle.stop({ grace: '1m' }))
  expect(runs.map(({ id }) => id)).toEqual(['long'])
  expect(await world.query(`select key, holder, crashes, solo_crashes from regrow.ledger`)).toEqual([
    { key: 's1', holder: null, crashes: 2, solo_crashes: 0 },
  ])
  const heir = worker(queue)
  await world.work(heir.app)
  await world.until(async () => (await left()) === 0)
  expect(heir.runs.map(({ id }) => id)).toEqual(['s1'])
})

test('a suspect that never ends is given up at its timeout, and the worker goes on with its other slots', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id from things where state = 'pending'`,
    timeout: '1s',
    sweep: { every: '1h' },
    run: (id, ctx) =>
      id === 's1'
        ? new Promise(() => {})
        : ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
  })
  await world.work(app, { concurrency: 2 })
  await add(0, 's1', 'n1')
  await suspect('s1')
  await job.enqueue('s1')
  await world.until(() => ear.of('job.started').length === 1)
  await job.enqueue('n1')
  await world.until(() => ear.of('job.settled', { key: 'n1', state: 'done' }).length === 1)
  expect(ear.of('job.stuck')).toEqual([{ job: 'thing.make', key: 's1' }])
  const [givenUp] = ear.times('job.settled', { key: 's1' })
  expect(ear.times('job.started', { key: 'n1' })[0]).toBeGreaterThanOrEqual(givenUp as number)
})

test('a suspect with a new version is new work and runs like any other', async () => {
  const { app, ear } = world.app()
  const job = app.job('thing.make', {
    pending: sql`select id, ms as version from things where state = 'pending'`,
    sweep: { every: '1h' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id])),
  })
  await world.work(app)
  await add(2, 'a')
  await suspect('a')
  await world.query(`update regrow.ledger set version = '1', failures = 3`)
  await job.enqueue('a')
  await world.until(() => ear.of('job.settled').length === 1)
  expect(ear.of('job.started')).toEqual([{ job: 'thing.make', key: 'a', attempt: 1 }])
})
