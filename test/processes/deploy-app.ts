// Two versions of one app, as a deploy has them side by side. The new one has a wider pending query for `ship`, the handler
// of `audit`, which both declare, and the new job `invoice`; it no longer has the job `legacy`.
import { type App, type Handler, sql } from '../../src/index.ts'

export type AppVersion = 'old' | 'new'

/** Rows of a kind, and the job that is to do them. `express` rows are work only for the new version's query. */
export const kinds = { ship: 'ship', express: 'ship', audit: 'audit', legacy: 'legacy', invoice: 'invoice' } as const
export type Kind = keyof typeof kinds

/** The app's own tables. `effects` has no unique key: a doubled effect shows. */
export const deployTables = `
  create table orders (id bigint primary key, kind text not null, state text not null default 'open', fails int not null default 0);
  create index on orders (kind, id) where state = 'open';
  create table effects (id bigint not null, kind text not null, version text not null);
`

const common = { key: 'bigint', retry: { delay: '300ms' }, sweep: { every: '2s' } } as const

export function deployJobs(app: App, version: AppVersion) {
  const open = (kind: Kind) => sql`select id from orders where kind = ${kind} and state = 'open'`
  const wider = sql`select id from orders where kind in ('ship', 'express') and state = 'open'`
  const ship = app.job('ship', { ...common, pending: version === 'old' ? open('ship') : wider })
  const audit = app.job('audit', { ...common, pending: open('audit'), batch: 20 })
  return version === 'old'
    ? { ship, audit, legacy: app.job('legacy', { ...common, pending: open('legacy'), batch: 20 }) }
    : { ship, audit, invoice: app.job('invoice', { ...common, pending: open('invoice') }) }
}

/** One effect per row through ctx.tx; a row with `fails` left fails first. */
export function deployHandlers(app: App, version: AppVersion): Handler[] {
  const jobs = deployJobs(app, version)
  const run: Parameters<typeof jobs.ship.handle>[0] = async (id, ctx) => {
    const failed = await ctx.tx(
      (tx) => tx.query(`update orders set fails = fails - 1 where id = $1 and fails > 0 returning id`, [id]),
      { settle: false },
    )
    if (failed.rows.length > 0) throw new Error('fails at first')
    await ctx.tx(async (tx) => {
      await tx.query(`insert into effects (id, kind, version) select id, kind, $2 from orders where id = $1`, [
        id,
        version,
      ])
      await tx.query(`update orders set state = 'done' where id = $1`, [id])
    })
  }
  const many: Parameters<typeof jobs.audit.handle>[0] = (ids, ctx) =>
    ctx.tx(async (tx) => {
      const list = `{${ids.join(',')}}`
      await tx.query(
        `insert into effects (id, kind, version) select id, kind, $2 from orders where id = any ($1::text::bigint[])`,
        [list, version],
      )
      await tx.query(`update orders set state = 'done' where id = any ($1::text::bigint[])`, [list])
    })
  return 'legacy' in jobs
    ? [jobs.ship.handle(run), jobs.legacy.handle(many)]
    : [jobs.ship.handle(run), jobs.audit.handle(many), jobs.invoice.handle(run)]
}
