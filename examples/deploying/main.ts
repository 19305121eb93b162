// A rolling deploy: two workers of version 1 with different sets of jobs are replaced one by one by version 2, which knows a
// job more, while orders come in. Nothing is lost, nothing is done twice, and what a stop interrupts is not counted.
// On PGlite all of them are in this process and share one queue in memory; on Postgres they are processes.
// Start it with: node --import jiti/register examples/deploying/main.ts
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { type QueueDriver, regrow, sql } from 'regrow'
import { memory } from 'regrow/memory'
import { pglite } from 'regrow/pglite'

const db = new PGlite()
await db.exec(`
  create table orders (id int primary key, mailed boolean not null default false, invoiced boolean not null default false);
  create table reports (id int primary key, built boolean not null default false);
  create table effects (what text not null, id int not null, version int not null, attempt int not null);
  insert into reports (id) values (1)`)

const queue = memory()
const opened = queue.open
let one: ReturnType<typeof opened> | undefined
const shared: QueueDriver = { ...queue, open: (surroundings) => (one ??= opened(surroundings)) }

/** The app as the code of that version declares it. */
function declare(version: 1 | 2) {
  const app = regrow({ store: pglite(db), queue: shared })
  const sweep = { every: '1s' } as const
  const mail = app.job('order.mail', {
    key: 'int',
    pending: sql`select id from orders where not mailed`,
    sweep,
    async run(id, ctx) {
      await sleep(20, undefined, { signal: ctx.signal })
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ('mail', $1, $2, $3)`, [id, version, ctx.attempt])
        await tx.query(`update orders set mailed = true where id = $1`, [id])
      })
    },
  })
  app.job('report.build', {
    key: 'int',
    pending: sql`select id from reports where not built`,
    sweep,
    concurrency: 1, // one at a time in a process
    async run(id, ctx) {
      console.log(`version ${version} begins report ${id}, attempt ${ctx.attempt}`)
      await sleep(version === 1 ? 60_000 : 100, undefined, { signal: ctx.signal }) // too long for the grace
      await ctx.tx(async (tx) => {
        await tx.query(`insert into effects values ('report', $1, $2, $3)`, [id, version, ctx.attempt])
        await tx.query(`update reports set built = true where id = $1`, [id])
      })
    },
  })
  if (version === 2)
    app.job('order.invoice', {
      key: 'int',
      pending: sql`select id from orders where not invoiced`,
      sweep,
      async run(id, ctx) {
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects values ('invoice', $1, $2, $3)`, [id, version, ctx.attempt])
          await tx.query(`update orders set invoiced = true where id = $1`, [id])
        })
      },
    })
  return { app, mail }
}

const [old, young] = [declare(1), declare(2)]

/** Customers: ten orders at a time, of which every third is enqueued by nobody. */
let orders = 0
async function order(): Promise<void> {
  for (let i = 0; i < 10; i++) {
    const id = ++orders
    await db.query(`insert into orders (id) values ($1)`, [id])
    if (id % 3 > 0) await old.mail.enqueue(id)
  }
}

const begun = new Promise<void>((resolve) =>
  old.app.on('job.started', ({ job }) => job === 'report.build' && resolve()),
)
const oldMail = old.app.work({ except: ['report.build'] })
const oldReports = old.app.work({ only: ['report.build'], concurrency: 2 })
await Promise.all([order(), begun])

console.log('the first worker of version 2 starts, the first of version 1 stops')
const youngMail = young.app.work({ except: ['report.build'] })
await Promise.all([youngMail.ready, order()])
await Promise.all([oldMail.stop(), order()])

console.log('the second one follows; the report that runs does not end within its grace')
const youngReports = young.app.work({ only: ['report.build'], concurrency: 2 })
await Promise.all([youngReports.ready, order()])
await Promise.all([oldReports.stop({ grace: '100ms' }), order()])

const left = `select (select count(*) from orders where not (mailed and invoiced)) + (select count(*) from reports where not built) as n`
while (Number((await db.query<{ n: number }>(left)).rows[0]?.n) > 0) await sleep(50)
await Promise.all([youngMail.stop(), youngReports.stop()])

const { rows } = await db.query<{ what: string; version: number; n: number; keys: number; attempts: number }>(
  `select what, version, count(*)::int as n, count(distinct id)::int as keys, max(attempt) as attempts
   from effects group by what, version order by what, version`,
)
const held = (await db.query(`select * from regrow.ledger`)).rows
await old.app.close()
await young.app.close()
await db.close()

for (const { what, version, n } of rows) console.log(`${what}: ${n} by version ${version}`)
const sum = (what: string) => rows.filter((row) => row.what === what).reduce((total, { n }) => total + n, 0)
assert.deepEqual([sum('mail'), sum('invoice'), sum('report')], [orders, orders, 1], 'nothing is lost or doubled')
assert.ok(
  rows.every(({ n, keys, attempts }) => n === keys && attempts === 1),
  'each effect once, in its first attempt: no stop was counted',
)
assert.deepEqual(held, [], 'no claim is left behind')
assert.ok(!rows.some(({ what, version }) => what !== 'mail' && version === 1), 'new jobs waited for who knows them')
console.log(`${orders} orders mailed and invoiced once each, and the report built once`)
