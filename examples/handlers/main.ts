// Writing handlers: effects that commit with the outcome, a call outside that happens once though its reply is lost, and
// a row that two jobs change.
// Start it with: node --import jiti/register examples/handlers/main.ts
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { regrow, sql, type Transaction } from 'regrow'
import { pglite } from 'regrow/pglite'

const db = new PGlite()
await db.exec(`
  create table customers (id int primary key, points int not null);
  create table subscriptions (id int primary key, paid_until date not null);
  create table receipts (subscription int not null, receipt text not null);
  create table gifts (id int primary key, points int not null, given boolean not null default false);
  insert into customers values (1, 100);
  insert into subscriptions values (1, '2030-02-10'), (2, '2030-01-10');
  insert into gifts (id, points) values (1, 5), (2, 7)`)

/** A pretended provider. It acts once per idempotency key; the reply to its first call gets lost. */
const requests: string[] = []
const receipts = new Map<string, string>()
async function charge(idempotencyKey: string): Promise<string> {
  requests.push(idempotencyKey)
  const known = receipts.get(idempotencyKey)
  console.log(`provider: ${known ? 'knows' : 'takes the money for'} ${idempotencyKey}`)
  const receipt = known ?? `receipt ${receipts.size + 1}`
  receipts.set(idempotencyKey, receipt)
  if (requests.length === 1) throw new Error('the reply was lost') // the money is taken, and nobody here knows it
  return receipt
}

/** Read, reckon, write. Two jobs do it: `for update` makes the second wait until the first has committed. */
async function addPoints(tx: Transaction, points: number): Promise<void> {
  const { rows } = await tx.query(`select points from customers where id = 1 for update`)
  await tx.query(`update customers set points = $1 where id = 1`, [Number(rows[0]?.points) + points])
}

const app = regrow({ store: pglite(db) })

app.job('subscription.renew', {
  key: 'int',
  // Another month is another version: new work, with an idempotency key of its own. Today is the 20th, in this example.
  pending: sql`select id, paid_until as version from subscriptions where paid_until <= '2030-02-20'`,
  retry: { delay: '0ms' },
  async run(id, ctx) {
    // Outside first, and whatever is slow: the transaction after it is short.
    const receipt = await charge(ctx.idempotencyKey)
    // All of this and the end of the run commit together, or none of it does.
    await ctx.tx(async (tx) => {
      await tx.query(`insert into receipts values ($1, $2)`, [id, receipt])
      await tx.query(`update subscriptions set paid_until = paid_until + interval '1 month' where id = $1`, [id])
      await addPoints(tx, 10)
    })
  },
})

app.job('gift.give', {
  key: 'int',
  pending: sql`select id from gifts where not given`,
  async run(id, ctx) {
    await ctx.tx(async (tx) => {
      const { rows } = await tx.query<{ points: number }>(
        `update gifts set given = true where id = $1 returning points`,
        [id],
      )
      await addPoints(tx, rows[0]?.points ?? 0)
    })
  },
})

app.on('job.settled', ({ job, key, state, error }) => {
  console.log(`${job} ${key}: ${state}${error ? ` (${error.split('\n')[0]})` : ''}`)
})
const { succeeded, failed } = await app.drain()

const { rows: customers } = await db.query(`select points from customers`)
const { rows: written } = await db.query(
  `select count(*)::int as n, count(distinct receipt)::int as receipts from receipts`,
)
await app.close()
await db.close()

const months = ['subscription.renew/1/2030-02-10', 'subscription.renew/2/2030-01-10', 'subscription.renew/2/2030-02-10']
assert.deepEqual([succeeded, failed], [5, 1], 'one month, two months, two gifts, and the reply that was lost')
assert.deepEqual([...receipts.keys()].sort(), months, 'the provider acts once per key')
assert.deepEqual(requests.slice().sort(), [...months, requests[0]].sort(), 'the lost one was asked for twice')
assert.deepEqual(written, [{ n: 3, receipts: 3 }], 'each receipt is written once')
assert.deepEqual(customers, [{ points: 100 + 3 * 10 + 5 + 7 }], 'no points are lost')
console.log('four requests, three charges, three receipts, and all points are there')
