// The app module of the CLI's tests, as a user would write it; plain JavaScript, which starts sooner. `things` is its table; `broken` makes a row fail,
// until MENDED is in the environment.
export const cliApp = `
import { regrow, sql } from 'regrow'
import { pglite } from 'regrow/pglite'
import { postgres } from 'regrow/postgres'
import { z } from 'zod'

const address = process.env.TEST_STORE
export const app = regrow({ store: address.startsWith('postgres') ? postgres(address) : pglite(address) })

export const thing = app.job('thing.make', {
  pending: sql\`select id from things where state = 'pending'\`,
  sweep: { every: '1h' },
  retry: { attempts: 1 },
  async run(id, ctx) {
    await ctx.tx(async (tx) => {
      const { rows } = await tx.query('update things set state = $1 where id = $2 returning broken', ['done', id])
      if (rows[0]?.broken && !process.env.MENDED) throw new Error('it is broken: password=hunter2')
    })
    console.log('made ' + id)
  },
})

export const mail = app.job('mail.send', {
  input: z.object({ to: z.string() }),
  retry: { attempts: 1 },
  run({ to }) {
    if (to.startsWith('bad')) throw new Error('no such address')
    console.log('mailed ' + to)
  },
})

export const pair = app.job('pair.join', {
  key: { a: 'int', b: 'text' },
  pending: sql\`select a, b from pairs\`,
  async run({ a, b }, ctx) {
    await ctx.tx((tx) => tx.query('delete from pairs where a = $1 and b = $2', [a, b]))
  },
})

/** Runs until its row says so, whatever the signal says. */
export const wait = app.job('wait.long', {
  pending: sql\`select id from waits where state = 'pending'\`,
  async run(id, ctx) {
    console.log('waiting for ' + id)
    let go = false
    while (!go)
      await ctx.tx(async (tx) => {
        go = (await tx.query('select pg_sleep(0.02)::text, go from waits where id = $1', [id])).rows[0]?.go === true
      }, { settle: false })
    await ctx.tx((tx) => tx.query('update waits set state = $1 where id = $2', ['done', id]))
  },
})
`

/** Its tables. */
export const cliTables = `
create table things (id text primary key, state text not null default 'pending', broken boolean not null default false);
create table pairs (a int, b text, primary key (a, b));
create table waits (id text primary key, state text not null default 'pending', go boolean not null default false);
`
