// Rows for which the pending query itself fails stand among rows that are fine: those run from the sweep alone, and each bad one is named.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type App, sql } from '../../src/index.ts'
import { operate } from '../../src/operate/index.ts'
import { Sweeping } from './sweeping.ts'

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'failing_rows',
    `create table words (id text collate "C" primary key, state text not null default 'pending', code text not null default '1');
     create table numbers (id bigint primary key, state text not null default 'pending', divisor int not null default 1)`,
  )
})
beforeEach(() => sweeping.query('truncate words, numbers, regrow.sweeps, regrow.ledger, regrow.hints'))
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

const update = (table: string, type: string) =>
  `update ${table} set state = 'done' where id = any (select x::${type} from jsonb_array_elements_text($1::text::jsonb) x)`

function words(app: App, pending = sql`select id from words where state = 'pending' and code::int > 0`) {
  return app
    .job('word.read', { key: 'text', pending, sweep: { every: '1s' }, batch: 1_000 })
    .handle((ids, ctx) => ctx.tx((tx) => tx.query(update('words', 'text'), [JSON.stringify(ids)])))
}

function numbers(app: App, pending: ReturnType<typeof sql>) {
  return app
    .job('number.count', {
      key: 'bigint',
      pending,
      sweep: { every: '1s' },
      batch: 1_000,
    })
    .handle((ids, ctx) => ctx.tx((tx) => tx.query(update('numbers', 'bigint'), [JSON.stringify(ids.map(String))])))
}

const fill = (count: number) =>
  sweeping.query(`insert into words (id) select 'k' || lpad(n::text, 6, '0') from generate_series(1, ${count}) n`)
const done = (table: string) => sweeping.number(`select count(*)::int as n from ${table} where state = 'done'`)
const findings = async (app: App) =>
  (await operate(app).health()).findings.filter(({ code }) => code === 'key_unusable')

test('three rows that no cast can read stop none of 30,000, and health and doctor name one of them and the reason', async () => {
  const { app, ear } = sweeping.app()
  await fill(30_000)
  await sweeping.query(
    `insert into words (id, code) values ('k000000', 'nought'), ('k014999x', 'many'), ('k015001x', 'more'); analyze words`,
  )
  await sweeping.work(app, { handlers: [words(app)] })
  await expect.poll(() => done('words'), { timeout: 60_000 }).toBe(30_000)
  await ear.until(() => ear.of('sweep.passed', { finished: true }).length > 1)
  expect(ear.of('sweep.failed')).toEqual([])
  const [finding] = await findings(app)
  expect(finding).toMatchObject({ level: 'bad', job: 'word.read' })
  expect(finding?.message).toMatch(
    /^word\.read: 3 rows can never run: the pending query fails for "k01\d{4}x?": invalid input syntax for type integer: "(many|more)"/,
  )
  expect((await operate(app).doctor()).findings).toContainEqual(
    expect.objectContaining({ code: 'key_unusable', job: 'word.read' }),
  )
  expect(ear.of('sweep.passed').some(({ unusableReason }) => unusableReason?.includes('nought'))).toBe(true)
  // Rows that are put right run, and nothing is said of them any more.
  await sweeping.query(`update words set code = '2' where state = 'pending'`)
  await expect.poll(() => done('words'), { timeout: 30_000 }).toBe(30_003)
  await expect.poll(() => findings(app), { timeout: 30_000 }).toEqual([])
}, 120_000)

test('a row whose version divides by zero stops no other row', async () => {
  const { app, ear } = sweeping.app()
  await sweeping.query(`insert into numbers select n, 'pending', case when n = 700 then 0 else 1 end
    from generate_series(1, 3000) n`)
  const job = numbers(app, sql`select id, (10 / divisor)::text as version from numbers where state = 'pending'`)
  await sweeping.work(app, { handlers: [job] })
  await expect.poll(() => done('numbers'), { timeout: 30_000 }).toBe(2_999)
  expect(ear.of('sweep.failed')).toEqual([])
  await expect
    .poll(async () => (await findings(app))[0]?.message, { timeout: 30_000 })
    .toContain('"700": division by zero')
}, 60_000)

test('a query that fails for every row fails its sweep, and no row is blamed', async () => {
  const { app, ear } = sweeping.app()
  await sweeping.query(`insert into numbers select n, 'pending', 0 from generate_series(1, 100) n`)
  const job = numbers(app, sql`select id from numbers where state = 'pending' and 10 / divisor > 0`)
  await sweeping.work(app, { handlers: [job] })
  await ear.until(() => ear.of('sweep.failed', { job: 'number.count' }).length > 0)
  expect(await findings(app)).toEqual([])
  const health = await operate(app).health()
  expect(health.findings).toContainEqual(expect.objectContaining({ code: 'sweep_failing', job: 'number.count' }))
}, 60_000)
