// What the compiler knows of `schedules.add`: the key or the input of the job that it is given. Checked by `tsc`.
import { regrow, sql } from 'regrow'
import { operate } from 'regrow/operate'
import { pglite } from 'regrow/pglite'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const app = regrow({ store: pglite() })
const pending = sql`select id from things`
const ship = app.job('ship', { key: 'bigint', pending })
const pair = app.job('pair', { key: { shop: 'int', number: 'text' }, pending })
const mail = app.job('mail', { input: z.object({ to: z.string(), at: z.coerce.date().optional() }) })
const report = app.job('report', { schedule: { every: { weeks: 2 }, anchor: '2026-01-05T09:00', tz: 'Europe/Berlin' } })
const { schedules } = operate(app)

test('a key or an input is that of the job', () => {
  const right = () => {
    void schedules.add('a', { job: ship, key: 7n, every: '1h' })
    void schedules.add('a', { job: ship, key: '7', every: { months: 1 }, anchor: '2026-01-31' })
    void schedules.add('a', { job: pair, key: { shop: 1, number: 'x' }, every: '1h' })
    void schedules.add('a', { job: mail, input: { to: 'ada' }, cron: '@daily', tz: 'Asia/Kolkata' })
    void schedules.add('a', { job: report, every: '1h' })
    void schedules.add('a', { job: 'mail', input: { to: 5 }, every: '1h' })
    void schedules.add('a', { job: 'ship', key: 5, every: '1h' })
    void app.transaction(async (tx) => {
      await schedules.add('a', { job: ship, key: 7n, every: '1h', tx })
    })
  }
  const wrong = () => {
    // @ts-expect-error a bigint is meant
    void schedules.add('a', { job: ship, key: true, every: '1h' })
    // @ts-expect-error its key is missing
    void schedules.add('a', { job: ship, every: '1h' })
    // @ts-expect-error a part of the key is missing
    void schedules.add('a', { job: pair, key: { shop: 1 }, every: '1h' })
    // @ts-expect-error a job with `pending` has no input
    void schedules.add('a', { job: ship, key: 7n, input: {}, every: '1h' })
    // @ts-expect-error the input does not fit
    void schedules.add('a', { job: mail, input: { to: 5 }, every: '1h' })
    // @ts-expect-error its input is missing
    void schedules.add('a', { job: mail, every: '1h' })
    // @ts-expect-error a job with `input` has no key
    void schedules.add('a', { job: mail, input: { to: 'ada' }, key: 'x', every: '1h' })
    // @ts-expect-error a job with `schedule` has neither
    void schedules.add('a', { job: report, key: 'x', every: '1h' })
    // @ts-expect-error months and weeks at once
    void schedules.add('a', { job: report, every: { fortnights: 1 } })
  }
  expectTypeOf(right).returns.toBeVoid()
  expectTypeOf(wrong).returns.toBeVoid()
})
