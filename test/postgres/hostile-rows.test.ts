// Rows that can never run stand among rows that can: those run, and each of these is named.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { App } from '../../src/index.ts'
import { sql } from '../../src/index.ts'
import { keyBytesMax } from '../../src/job/key.ts'
import { operate } from '../../src/operate/index.ts'
import { Sweeping } from './sweeping.ts'

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'hostile_rows',
    `create table words (id text collate "C", state text not null default 'pending', run_at timestamptz);
     create table pairs (tenant int, name text collate "C", state text not null default 'pending')`,
  )
})
beforeEach(() => sweeping.query('truncate words, pairs, regrow.sweeps, regrow.ledger, regrow.hints'))
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

/** Text that does not compress: the server would squeeze a repeated letter into its index. */
const random = (bytes: number) =>
  `(select left(string_agg(md5(n::text), ''), ${bytes}) from generate_series(1, ${Math.ceil(bytes / 32)}) n)`

const good = (count: number) =>
  sweeping.query(`insert into words (id) select 'k' || lpad(n::text, 6, '0') from generate_series(1, ${count}) n`)

function words(app: App) {
  return app
    .job('word.read', {
      key: 'text',
      pending: sql`select id from words where state = 'pending'`,
      sweep: { every: '1s' },
      batch: 1_000,
    })
    .handle((ids, ctx) =>
      ctx.tx((tx) =>
        tx.query(`update words set state = 'done' where id = any (select jsonb_array_elements_text($1::text::jsonb))`, [
          JSON.stringify(ids),
        ]),
      ),
    )
}

const done = (table = 'words') => sweeping.number(`select count(*)::int as n from ${table} where state = 'done'`)

test('rows whose key is too long stop no other row, and health, doctor and why name them', async () => {
  const { app, ear } = sweeping.app()
  await good(2_500)
  // One that the index of the queue refuses, and one that only the worker would.
  await sweeping.query(
    `insert into words (id) select 'k001200' || ${random(3_000)} union all select 'a' || ${random(1_500)}`,
  )
  await sweeping.work(app, { handlers: [words(app)] })
  await ear.until(() => ear.of('sweep.passed', { finished: true }).length > 1)
  await expect.poll(() => done(), { timeout: 20_000 }).toBe(2_500)
  expect(ear.of('hint.dropped')).toEqual([])
  expect(ear.of('sweep.passed')[0]).toMatchObject({ seen: 2_502, unusable: 2 })
  const health = await operate(app).health()
  expect(health.healthy).toBe(false)
  const [finding] = health.findings.filter(({ code }) => code === 'key_unusable')
  expect(finding).toMatchObject({ level: 'bad', job: 'word.read' })
  expect(finding?.message).toMatch(/^word\.read: 2 rows can never run.*1,?024 bytes.*"(a|k001200)/)
  const { findings } = await operate(app).doctor()
  expect(findings).toContainEqual(expect.objectContaining({ code: 'key_unusable', job: 'word.read' }))
  const rows = await sweeping.query<{ id: string }>(`select id from words where state = 'pending' order by id`)
  for (const { id } of rows) {
    const why = await operate(app).why('word.read', id)
    expect(why).toMatchObject({ reason: 'key_unusable', key: id })
    expect(why.sentence).toContain(`${id.length} bytes`)
  }
  // A row that is put right is found by the next pass, and nothing is said of it any more.
  await sweeping.query(`update words set id = left(id, ${keyBytesMax}) where state = 'pending'`)
  await expect.poll(() => done(), { timeout: 20_000 }).toBe(2_502)
  await expect
    .poll(async () => (await operate(app).health()).findings.map(({ code }) => code), { timeout: 20_000 })
    .not.toContain('key_unusable')
})

const timed = (app: App) =>
  app.job('word.read', {
    key: 'text',
    pending: sql`select id, run_at from words where state = 'pending'`,
    sweep: { every: '1s' },
    run: (id, ctx) => ctx.tx((tx) => tx.query(`update words set state = 'done' where id = $1`, [id])),
  })

test('a row whose run_at is -infinity runs now and stops no other row; at infinity it never runs', async () => {
  const { app, ear } = sweeping.app()
  timed(app)
  await good(200)
  await sweeping.query(`insert into words (id, run_at) values ('k000100x', '-infinity'), ('k000101x', 'infinity')`)
  await sweeping.work(app)
  await expect.poll(() => done(), { timeout: 20_000 }).toBe(201)
  const passes = ear.of('sweep.passed', { finished: true }).length
  await ear.until(() => ear.of('sweep.passed', { finished: true }).length > passes + 1)
  expect(await sweeping.query(`select id from words where state = 'pending'`)).toEqual([{ id: 'k000101x' }])
  expect(ear.of('sweep.failed')).toEqual([])
})

test('a row that was enqueued while due never, or next year, is found by the sweep once it is due', async () => {
  const { app, ear } = sweeping.app()
  const job = timed(app)
  await sweeping.query(
    `insert into words (id, run_at) values ('never', 'infinity'), ('year', now() + interval '1 year')`,
  )
  await sweeping.work(app)
  await job.enqueueMany(['never', 'year'])
  await ear.until(() => ear.of('hint.refused', { why: 'not_due' }).length === 2)
  await sweeping.query(`update words set run_at = now()`)
  await expect.poll(() => done(), { timeout: 20_000 }).toBe(2)
})
