// The recipe of docs/handlers.md for calls outside, as a process that can be killed: renews subscriptions at a provider over
// HTTP, with the idempotency key of the run, and then writes the receipt through ctx.tx. Addresses come in the environment.
import { postgres } from '../../src/drivers/postgres/index.ts'
import { regrow, sql } from '../../src/index.ts'

const { DATABASE_URL, PROVIDER_URL = '' } = process.env
const app = regrow({ store: postgres(DATABASE_URL), lease: '1s' })

app.job('subscription.renew', {
  key: 'int',
  pending: sql`select id, paid_until as version from subscriptions where paid_until <= '2030-02-20'`,
  retry: { delay: '100ms' },
  sweep: { every: '1s' },
  async run(id, ctx) {
    const headers = { 'idempotency-key': ctx.idempotencyKey }
    const response = await fetch(`${PROVIDER_URL}/charge`, { method: 'POST', headers, signal: ctx.signal })
    const receipt = await response.text()
    await ctx.tx(async (tx) => {
      await tx.query(`insert into receipts values ($1, $2, $3)`, [id, receipt, ctx.attempt])
      await tx.query(`update subscriptions set paid_until = paid_until + interval '1 month' where id = $1`, [id])
    })
  },
})

await app.work().ready
