// The jobs of `npm run chaos -- hostile`: one for each kind of bad row, value and answer, all of one shape. Every good row has one effect through
// ctx.tx; the bad rows stand among them.
import { z } from 'zod'
import type { App, Context } from '../../../src/index.ts'

export interface HostileJob {
  readonly name: string
  /** Its table. */
  readonly table: string
  /** Further columns of the pending query. */
  readonly columns?: string
  /** Further conditions of the pending query. */
  readonly where?: string
  /** Good rows, beside those of other jobs. Defaults to 1. */
  readonly share?: number
  /** SQL that inserts its bad rows. */
  readonly badRows?: string
  /** What its handler does before the effect; true: there is no effect. */
  readonly before?: (id: string, ctx: Context) => boolean | undefined
}

/** Text that does not compress, so that the server cannot squeeze it into an index. */
const random = (bytes: number) =>
  `(select left(string_agg(md5(n::text), ''), ${bytes}) from generate_series(1, ${Math.ceil(bytes / 32)}) n)`

const job = (name: string, more: Omit<HostileJob, 'name' | 'table'> = {}): HostileJob => ({
  name,
  table: name.replaceAll('.', '_'),
  ...more,
})

export const hostileJobs: readonly HostileJob[] = [
  job('key.long', { badRows: `select 'g0002' || ${random(3_000)} union all select 'a' || ${random(1_500)}` }),
  job('answer.odd', {
    badRows: `select unnest(array['far', 'nan'])`,
    before: (id, ctx) => {
      if (id !== 'far' && id !== 'nan') return undefined
      ctx.snooze(id === 'far' ? 1e300 : Number.NaN)
      return true
    },
  }),
  job('check.locked'),
  job('version.zone', {
    columns: 'changed_at as version',
    badRows: `select 'bad'`,
    before: (id) => {
      if (id === 'bad') throw new Error('it never works')
      return undefined
    },
  }),
  job('run.edges', { columns: 'run_at', badRows: `select 'never'` }),
  job('table.one'),
  job('table.two'),
  // A question about progress takes as long as a check: 20 ms for each key.
  job('query.slow', { where: 'and slowly(id)', share: 0.1 }),
  job('queue.typed'),
  job('state.lost'),
  job('plain.one'),
  job('plain.two'),
]

/** Tables, and what the pending queries call. */
export const hostileTables = `
  create table effects (job text not null, key text not null, at timestamptz not null default clock_timestamp());
  create function slowly(id text) returns boolean language plpgsql stable cost 100000 as $$
    begin perform pg_sleep(0.02); return true; end $$;
  ${hostileJobs
    .map(
      ({ table }) => `
  create table ${table} (id text collate "C" not null, state text not null default 'pending', run_at timestamptz,
    changed_at timestamptz not null default clock_timestamp(), at timestamptz not null default clock_timestamp(),
    done_at timestamptz);
  create unique index on ${table} (left(id, 200));
  create index on ${table} (left(id, 200)) where state = 'pending';`,
    )
    .join('')}
`

/** Declares all of them, and a job whose work has no row; answers that one. */
export function declareHostile(app: App) {
  for (const { name, table, columns, where = '', before } of hostileJobs)
    app.job(name, {
      key: 'text',
      pending: {
        text: `select id${columns ? `, ${columns}` : ''} from ${table} where state = 'pending' ${where}`,
        values: [],
      },
      sweep: { every: '5s' },
      retry: { attempts: 2, delay: '200ms' },
      async run(id, ctx) {
        if (before?.(id, ctx)) return
        await ctx.tx(async (tx) => {
          await tx.query(`insert into effects (job, key) values ($1, $2)`, [name, id])
          await tx.query(`update ${table} set state = 'done', done_at = clock_timestamp() where id = $1`, [id])
        })
      },
    })
  app.job('tick.often', { schedule: { every: '2s' }, run: () => {} })
  return app.job('mail.send', {
    input: z.object({ to: z.string() }),
    run: ({ to }, ctx) =>
      ctx.tx(async (tx) => void (await tx.query(`insert into effects (job, key) values ('mail.send', $1)`, [to]))),
  })
}

/** The bad rows, once: each answers its job and key. */
export async function insertBadRows(query: (text: string) => Promise<{ rows: { id: string }[] }>) {
  const keys: [job: string, key: string][] = []
  for (const { name, table, badRows } of hostileJobs) {
    if (badRows === undefined) continue
    const edge = name === 'run.edges' ? `'infinity'::timestamptz` : 'null'
    const { rows } = await query(
      `insert into ${table} (id, run_at) select bad.*, ${edge} from (${badRows}) bad returning id`,
    )
    keys.push(...rows.map(({ id }): [string, string] => [name, id]))
  }
  return keys
}

/** The next `count` good rows of each job, in one statement per job. */
export async function insertGoodRows(query: (text: string) => Promise<unknown>, from: number, count: number) {
  for (const { name, table, share = 1 } of hostileJobs) {
    const edge = name === 'run.edges' ? `case when n % 7 = 0 then '-infinity'::timestamptz end` : 'null'
    await query(
      `insert into ${table} (id, run_at) select 'g' || lpad(n::text, 5, '0'), ${edge}
       from generate_series(${Math.round(from * share) + 1}, ${Math.round((from + count) * share)}) n`,
    )
  }
}
