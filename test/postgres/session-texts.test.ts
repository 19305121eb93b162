// Processes whose roles have other settings read the same version, so that none of them takes it for new work: neither a
// quarantine nor an idempotency key depends on who looks.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { postgres } from '../../src/drivers/postgres/index.ts'
import { type Context, sql } from '../../src/index.ts'
import { readJob } from '../../src/job/job.ts'
import { Sweeping } from './sweeping.ts'

let sweeping: Sweeping
beforeAll(async () => {
  sweeping = await Sweeping.open(
    'session_texts',
    `create type mood as enum ('calm', 'wild');
     create domain stamp as timestamptz;
     create table things (id text primary key, at timestamptz, state text not null default 'pending')`,
  )
})
beforeEach(() => sweeping.query('truncate things, regrow.ledger, regrow.sweeps, regrow.hints, regrow.workers'))
afterEach(() => sweeping.rest())
afterAll(() => sweeping.close())

const [plain, odd] = [
  ['TimeZone=UTC', 'DateStyle=ISO', 'extra_float_digits=1'],
  [
    'TimeZone=Asia/Kathmandu',
    'DateStyle=SQL,DMY',
    'IntervalStyle=iso_8601',
    'extra_float_digits=0',
    'bytea_output=escape',
    'standard_conforming_strings=off',
  ],
] as const

const addressWith = (settings: readonly string[]) => {
  const url = new URL(sweeping.url)
  url.searchParams.set('options', settings.map((each) => `-c ${each.replaceAll(' ', '\\ ')}`).join(' '))
  return url.href
}

/** Each as SQL, and its text as a session with plain settings shows it. */
const versions = [
  [`timestamptz '2026-03-29 02:30:00.123456+02'`, '2026-03-29 00:30:00.123456+00'],
  [`'2026-03-29 02:30+02'::stamp`, '2026-03-29 00:30:00+00'],
  [`timestamptz 'infinity'`, 'infinity'],
  [`timestamptz '-infinity'`, '-infinity'],
  [`timestamptz '294276-12-31 23:59:59+00'`, '294276-12-31 23:59:59+00'],
  [`timestamp '2026-03-29 02:30:00.5'`, '2026-03-29 02:30:00.5'],
  [`date '2026-03-09'`, '2026-03-09'],
  [`time '02:30'`, '02:30:00'],
  [`timetz '02:30+05:45'`, '02:30:00+05:45'],
  [`interval '1 year -2 days 03:00:00.25'`, '1 year -2 days +03:00:00.25'],
  [`0.1::float8 + 0.2::float8`, '0.30000000000000004'],
  [`float4 '0.1'`, '0.1'],
  [`decode('00ff5c', 'hex')`, String.raw`\x00ff5c`],
  [`array[timestamptz '2026-01-01 00:00+00']`, '{"2026-01-01 00:00:00+00"}'],
  [`tstzrange('2026-01-01 00:00+00', null)`, '["2026-01-01 00:00:00+00",)'],
  [`7::int8`, '7'],
  [`1.50::numeric`, '1.50'],
  [`'calm'::mood`, 'calm'],
  [`true`, 'true'],
  [`'{"b": 1, "a": [2]}'::jsonb`, '{"a": [2], "b": 1}'],
  [`'it''s'::text`, `it's`],
] as const

test.each(versions)('the version %s is %s in every session', async (version, text) => {
  await sweeping.query(`insert into things values ('a')`)
  const { job } = readJob('thing.make', {
    key: 'text',
    pending: { text: `select t.id, ${version} as version from things t`, values: [] },
  })
  for (const settings of [plain, odd]) {
    const driver = postgres(addressWith(settings))
    const { store } = await driver.open({ clock: systemClock, leaseMs: 15_000 })
    try {
      const source = store.source(job)
      const { rows } = await source.page(null, 10, 0, 5_000)
      expect(rows.map((row) => row.version)).toEqual([text])
      expect((await source.check(['a'])).pending.get('a')?.version).toBe(text)
    } finally {
      await store.close()
    }
  }
})

test('two roles with other settings neither clear each other’s quarantine nor see another idempotency key', async () => {
  const keys: string[] = []
  const declare = (settings: readonly string[], end: (ctx: Context) => unknown) => {
    const { app, ear } = sweeping.app({ store: postgres(addressWith(settings)) })
    app.job('thing.make', {
      key: 'text',
      pending: sql`select id, at as version from things where state = 'pending'`,
      sweep: { every: '1s' },
      async run(id, ctx) {
        keys.push(ctx.idempotencyKey)
        if (id === 'bad') return end(ctx)
        await ctx.tx((tx) => tx.query(`update things set state = 'done' where id = $1`, [id]))
      },
    })
    return { app, ear }
  }
  const first = declare(plain, (ctx) => ctx.quarantine('look at it'))
  await sweeping.query(`insert into things values ('bad', '2026-03-29 00:30:00.25+00')`)
  const worker = await sweeping.work(first.app)
  await first.ear.hears('job.settled', { key: 'bad' })
  await worker.stop()
  const second = declare(odd, (ctx) => ctx.quarantine('look at it'))
  await sweeping.query(`insert into things values ('good', '2026-03-29 00:30:00.25+00')`)
  await sweeping.work(second.app)
  await second.ear.hears('job.settled', { key: 'good' })
  await second.ear.until(() => second.ear.of('sweep.passed', { finished: true }).length > 1)
  expect(keys).toEqual(['bad', 'good'].map((key) => `thing.make/${key}/2026-03-29 00:30:00.25+00`))
  expect(await sweeping.query('select key, state, version from regrow.ledger')).toEqual([
    { key: 'bad', state: 'quarantined', version: '2026-03-29 00:30:00.25+00' },
  ])
})

test('the version of a custom source may be a Date: its text is in UTC, whatever the time zone of the process', async () => {
  const at = new Date('2026-03-29T00:30:00.250Z')
  const rows = [{ key: 'a', version: at as unknown as string }]
  const { job } = readJob('thing.make', {
    key: 'text',
    pending: { page: async () => rows, isPending: async () => rows },
  })
  const { store } = await postgres(sweeping.url).open({ clock: systemClock, leaseMs: 15_000 })
  const before = process.env.TZ
  try {
    for (const zone of ['Asia/Kathmandu', 'America/New_York']) {
      process.env.TZ = zone
      expect((await store.source(job).check(['a'])).pending.get('a')?.version).toBe('2026-03-29T00:30:00.250Z')
    }
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
    await store.close()
  }
})
